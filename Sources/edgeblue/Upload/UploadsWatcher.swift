import Foundation
import JSONValues
import Timing
import Uploads

/// A snapshot of a queue that any process uploads.
struct UploadsNow {
  var totals = QueueStore.Totals()
  /// The items that are being uploaded, and the number of bytes sent of each.
  var running: [UploadItem] = []
  var sent: [Int64: Int64] = [:]
  /// The throughput over the last few seconds; `nil` before the second sample.
  var bytesPerSecond: Double?
  /// The process that uploads the queue; `nil` if there is none.
  var uploader: QueueUploader?

  /// The number of items that are not uploaded yet.
  var count: Int { (totals.items[.waiting] ?? 0) + (totals.items[.uploading] ?? 0) }

  /// The number of their bytes that were not sent yet.
  var bytesLeft: Int64 {
    let done = running.reduce(Int64(0)) { $0 + min(sent[$1.id] ?? 0, $1.request.content.size) }
    return max((totals.bytes[.waiting] ?? 0) + (totals.bytes[.uploading] ?? 0) - done, 0)
  }

  /// The snapshot as JSON.
  var json: [String: JSONValue] {
    let items = running.map { item in
      JSONValue.object([
        "id": .number(Int(item.id)), "key": .string(item.request.key), "size": .number(Int(item.request.content.size)),
        "sent": .number(Int(sent[item.id] ?? 0)),
      ])
    }
    let speed = bytesPerSecond ?? 0
    return [
      "toGo": .number(count), "bytesLeft": .number(Int(bytesLeft)), "bytesPerSecond": .number(Int(speed)),
      "secondsLeft": JSONValue(speed > 0 ? Int(min(Double(bytesLeft) / speed, 1e9)) : nil), "running": .array(items),
      "failed": .number(totals.items[.failed] ?? 0), "uploader": JSONValue(uploader?.processID.map { Int($0) }),
    ]
  }
}

/// Takes snapshots of a queue, and measures its throughput.
struct UploadsMonitor {
  /// The time over which the throughput is measured.
  private static let span = Duration.seconds(5)

  private var samples: [(at: ContinuousClock.Instant, bytes: Int64)] = []
  /// The numbers of items since the last change.
  private var totals: QueueStore.Totals?
  private var items: [Int64: UploadItem] = [:]

  /// Notes that the next snapshot must count the items again.
  mutating func itemsChanged() { totals = nil }

  /// Returns a snapshot of the queue of this process; the store is read for changed items only.
  mutating func read(_ status: UploadQueue.Status, _ store: QueueStore) throws -> UploadsNow {
    sample(status.counters.sentBytes)
    let totals = try totals ?? store.totals()
    self.totals = totals
    items = items.filter { status.running[$0.key] != nil }
    for id in status.running.keys where items[id] == nil { items[id] = try store.item(id) }
    return UploadsNow(
      totals: totals, running: items.values.sorted { $0.id < $1.id }, sent: status.running,
      bytesPerSecond: bytesPerSecond)
  }

  /// Returns a snapshot of a queue that another process uploads, or none.
  mutating func read(_ store: QueueStore) throws -> UploadsNow {
    let uploader = try store.uploader
    sample(uploader?.sentBytes)
    let running = try (uploader?.running ?? [:]).keys.sorted().compactMap { try store.item($0) }
    return UploadsNow(
      totals: try store.totals(seenWith: uploader), running: running.filter { $0.state == .uploading },
      sent: uploader?.running ?? [:], bytesPerSecond: bytesPerSecond, uploader: uploader)
  }

  /// Adds a sample; another process counts from zero.
  private mutating func sample(_ bytes: Int64?) {
    let now = ContinuousClock.now
    guard let bytes, bytes >= samples.last?.bytes ?? 0 else { return samples = [] }
    samples.append((now, bytes))
    samples.removeAll { $0.at < now - Self.span }
  }

  private var bytesPerSecond: Double? {
    guard let first = samples.first, let last = samples.last, first.at < last.at else { return nil }
    return Double(last.bytes - first.bytes) / (first.at.duration(to: last.at) / .seconds(1))
  }
}

/// Displays a queue that another process uploads, or none.
struct UploadsWatcher: Sendable {
  private let terminal: Terminal
  private let look: @Sendable () throws -> QueueStore

  /// The interval at which the queue is polled.
  private static let frame = Duration.milliseconds(500)
  /// The number of events that are read.
  private static let eventLimit = 20

  /// - Parameter look: A function that returns a new copy of the queue.
  init(_ terminal: Terminal, look: @escaping @Sendable () throws -> QueueStore) {
    self.terminal = terminal
    self.look = look
  }

  /// Displays the queue until the task is cancelled: continuously in a terminal, elsewhere after each change.
  func run() async throws {
    var screen = LiveScreen()
    var monitor = UploadsMonitor()
    var shown = ""
    while true {
      let store = try look()
      let now = try monitor.read(store)
      let lines = UploadText.live(
        now, notes: try Self.notes(store, now.totals, now.uploader), events: try store.events(limit: Self.eventLimit))
      let text = terminal.json ? JSONValue.object(now.json).line : lines.joined(separator: "\n")
      if terminal.isLive {
        Output.write(screen.frame(lines))
      } else if text != shown {
        shown = text
        if terminal.json { terminal.print(json: .object(now.json)) }
        terminal.say(text)
      }
      try await Task.sleep(for: Self.frame, clock: .steady)
    }
  }

  /// Returns notes for display: that the queue is paused, and that no process uploads it.
  static func notes(
    _ store: QueueStore, _ totals: QueueStore.Totals, _ uploader: QueueUploader?
  ) throws -> [String] {
    var notes: [String] = []
    if try store.isPaused { notes.append("the queue is paused; `edgeblue uploads resume` resumes it") }
    if uploader == nil, totals.items[.waiting] != nil {
      notes.append("no process uploads the queue; `edgeblue uploads run` does")
    }
    if store.isDiskFull {
      notes.append("the disk of the queue is full: what is uploaded cannot be recorded until there is space")
    }
    return notes
  }
}
