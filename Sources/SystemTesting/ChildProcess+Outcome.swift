import Foundation
internal import Glibc
internal import Streams

extension ChildProcess {
  /// The time within which a process of a test prints a line, or ends: 4 min, less than the time limit of a test, which
  /// cannot end a wait for a process.
  static let limit = Duration.seconds(240)

  /// Waits until the process has ended, on a thread of its own, and reads what it printed. One that has not ended after
  /// 4 min is killed; its errors then end with what its threads waited for.
  /// - Returns: Its exit status, or -1 when a signal ended it, and the output and the errors where they are kept.
  public func outcome() async -> (status: Int32, output: String, errors: String) {
    await outcome(within: Self.limit)
  }

  /// Waits until the process has ended, as ``outcome()`` does, within a limit.
  package func outcome(within limit: Duration) async -> (status: Int32, output: String, errors: String) {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { [self] in continuation.resume(returning: collect(within: limit)) }
    }
  }

  /// Blocks the thread.
  private func collect(within limit: Duration) -> (status: Int32, output: String, errors: String) {
    let end = ContinuousClock.now + limit
    var texts: [FileDescriptor: [UInt8]] = [output: [], errors: []]
    var open = [output, errors].filter { $0.withNumber { _ in true } == true }
    var isLate = false
    while !open.isEmpty, !isLate {
      isLate = !waitForOutput(open, until: end)
      for stream in open where hasOutput(stream) {
        let bytes = read(stream)
        texts[stream]? += bytes
        if bytes.isEmpty { open.removeAll { $0 == stream } }
      }
    }
    while !isLate, !hasEnded {
      isLate = ContinuousClock.now >= end
      usleep(2000)
    }
    let report = isLate ? killLate("ended", limit) : ""
    let printed = String(decoding: texts[output] ?? [], as: UTF8.self)
    return (wait(), printed, String(decoding: texts[errors] ?? [], as: UTF8.self) + report)
  }

  /// Waits until one of the streams has something to read, or has ended. Blocks the thread.
  /// - Returns: `false` when the instant has passed.
  func waitForOutput(_ streams: [FileDescriptor], until end: ContinuousClock.Instant) -> Bool {
    while ContinuousClock.now < end {
      var items = streams.map { pollfd(fd: $0.withNumber { $0 } ?? -1, events: Int16(POLLIN), revents: 0) }
      // One that is closed is read at once, and has ended.
      if items.contains(where: { $0.fd < 0 }) { return true }
      if poll(&items, nfds_t(items.count), 100) > 0 { return true }
    }
    return false
  }

  private func hasOutput(_ stream: FileDescriptor) -> Bool {
    var item = pollfd(fd: stream.withNumber { $0 } ?? -1, events: Int16(POLLIN), revents: 0)
    // One that was closed meanwhile has ended.
    return item.fd < 0 || poll(&item, 1, 0) > 0
  }

  /// A Boolean value that indicates whether the process has ended.
  package var hasEnded: Bool {
    status.withLock { status in
      var information = siginfo_t()
      // It is not taken, so that others may wait, too.
      waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT | WNOHANG)
      return status != nil || information.si_signo != 0
    }
  }

  /// Kills a process that is late.
  /// - Returns: The sentence for the test's report, which is printed, too: not every test looks at it.
  func killLate(_ event: String, _ limit: Duration) -> String {
    let report = "\(program) has not \(event) within \(limit); its threads:\n\(threads)"
    print(report)
    signal(SIGKILL)
    return report
  }

  /// The threads of the process and of what it has started, a line each: the state, the function of the kernel that it
  /// waits in, and the system call.
  package var threads: String {
    func text(_ path: String) -> String {
      ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "?").trimmingCharacters(in: .whitespacesAndNewlines)
    }
    func lines(of pid: Int32) -> [String] {
      let folder = "/proc/\(pid)/task"
      let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      return threads.sorted().flatMap { thread -> [String] in
        let path = "\(folder)/\(thread)"
        let state = text(path + "/stat").split(separator: ")").last?.split(separator: " ").first ?? "?"
        let line = "  \(thread) \(text(path + "/comm")) \(state) \(text(path + "/wchan")) \(text(path + "/syscall"))"
        return [line] + text(path + "/children").split(separator: " ").compactMap { Int32($0) }.flatMap(lines)
      }
    }
    return lines(of: pid).joined(separator: "\n")
  }
}
