import EdgeCoder
import Timing

/// Prints the events of a phone, which it derives from the changes of its counters.
struct PhoneDiary: Sendable {
  let terminal: Terminal

  /// Prints events until the task is cancelled.
  func follow(_ phone: PhoneService) async {
    var last: PhoneSnapshot?
    var began: ContinuousClock.Instant?
    // The chunks of one reply may leave during several polls.
    var chunksReported = 0
    while !Task.isCancelled {
      let now = await phone.snapshot()
      if now.isAnswering, began == nil { began = .now }
      report(now, after: last, chunksReported: chunksReported, took: began.map { .now - $0 })
      if now.counters.replies > (last?.counters.replies ?? 0) { chunksReported = now.counters.chunks }
      if !now.isAnswering { began = nil }
      last = now
      do { try await Task.sleep(for: .milliseconds(100), clock: .steady) } catch { return }
    }
  }

  private func report(_ now: PhoneSnapshot, after last: PhoneSnapshot?, chunksReported: Int, took: Duration?) {
    let old = last?.counters ?? PhoneCounters()
    let new = now.counters
    if now.isUp != (last?.isUp ?? false) {
      terminal.happened(now.isUp ? "advertising" : "no longer advertising", now.isUp ? "up" : "down")
    }
    if let status = now.status, status.modelState != last?.status?.modelState {
      terminal.happened(
        "model: \(status.modelState.printable)", "model",
        ["modelState": .string(status.modelState), "batteryPct": JSON(status.batteryPct)])
    }
    if now.peers != (last?.peers ?? 0) {
      terminal.happened("centrals connected: \(now.peers)", "centrals", ["connected": .number(now.peers)])
    }
    if new.requests > old.requests {
      // While no prompt is answered, the first one waiting is about to be.
      let line = max(0, now.queued - (now.isAnswering ? 0 : 1))
      let waiting = line > 0 ? ", \(line) waiting" : ""
      let bytes = new.requestBytes - old.requestBytes
      terminal.happened(
        "prompt \(new.requests): a request of \(bytes) bytes\(waiting)", "prompt",
        ["number": .number(new.requests), "bytes": .number(bytes), "waiting": .number(line)])
    }
    if new.engineFailures > old.engineFailures { terminal.happened("the engine failed", "engineFailed") }
    if new.replies > old.replies {
      let time = took.map { " after \(Self.seconds($0)) s" } ?? ""
      let bytes = new.replyBytes - old.replyBytes
      let chunks = new.chunks - chunksReported
      terminal.happened(
        "reply \(new.replies): \(bytes) bytes in \(chunks) \(chunks == 1 ? "chunk" : "chunks")\(time)", "reply",
        ["number": .number(new.replies), "bytes": .number(bytes), "chunks": .number(chunks)])
    }
    if new.repliesFailed > old.repliesFailed { terminal.happened("a reply could not be sent", "replyFailed") }
    if new.cancelled > old.cancelled { terminal.happened("a central disconnected before its reply", "cancelled") }
    if new.busy > old.busy { terminal.happened("a prompt was refused: the phone is busy", "busy") }
    if new.accessRefused > old.accessRefused {
      terminal.happened("a central without access was refused", "accessRefused")
    }
    if new.writesRefused > old.writesRefused { terminal.happened("a write was refused", "writeRefused") }
    if new.malformed > old.malformed { terminal.happened("a malformed request was rejected", "malformed") }
  }

  /// Prints the totals when the phone has stopped.
  func conclude(_ counters: PhoneCounters) {
    terminal.say()
    terminal.happened(
      "stopped; \(counters.requests) prompts, \(counters.replies) replies, \(counters.engineFailures) engine failures",
      "stopped",
      [
        "requests": .number(counters.requests), "replies": .number(counters.replies),
        "engineFailures": .number(counters.engineFailures), "cancelled": .number(counters.cancelled),
        "malformed": .number(counters.malformed), "repliesFailed": .number(counters.repliesFailed),
        "busy": .number(counters.busy), "limited": .number(counters.limited),
        "writesRefused": .number(counters.writesRefused),
        "accessRefused": .number(counters.accessRefused),
      ])
  }

  static func seconds(_ duration: Duration) -> String {
    let tenths = Int((duration / .milliseconds(100)).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }
}
