internal import Glibc
internal import SpeedTest
internal import Streams

/// Work with sockets on a thread of its own, which looks for the end of its task every 50 ms.
struct BlockingWork: Sendable {
  private let isCancelled: Lock<Bool>

  private init(_ isCancelled: Lock<Bool>) { self.isCancelled = isCancelled }

  /// The longest wait between two looks, in milliseconds.
  private static let look: Int32 = 50

  /// Runs work on a new thread and returns its result.
  /// - Throws: The error that the work throws; `CancellationError` when the task was cancelled; `SpeedTestError` when the
  ///   kernel grants no thread.
  static func run<Value: Sendable>(
    _ name: String, _ body: @escaping @Sendable (BlockingWork) throws -> Value
  ) async throws -> Value {
    let work = BlockingWork(Lock(false))
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        do throws(SystemCallError) {
          try startThread(named: name) { continuation.resume(with: Result { try body(work) }) }
        } catch {
          continuation.resume(throwing: SpeedTestError(.storage, "\(error)", errno: error.errno))
        }
      }
    } onCancel: {
      work.isCancelled.withLock { $0 = true }
    }
  }

  /// Waits until a descriptor is ready, or an instant.
  /// - Parameters:
  ///   - descriptor: The descriptor.
  ///   - events: The events of `poll` to wait for.
  ///   - end: The instant by ``now``.
  /// - Returns: The events that arrived; 0 at the instant.
  /// - Throws: `CancellationError`; `SystemCallError`.
  func wait(_ descriptor: Int32, for events: Int32, until end: Duration) throws -> Int32 {
    while true {
      if isCancelled.withLock({ $0 }) { throw CancellationError() }
      let rest = (end - now).milliseconds
      if rest <= 0 { return 0 }
      var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
      let count = poll(&entry, 1, min(Int32(clamping: rest), Self.look))
      if count > 0 { return Int32(entry.revents) }
      guard count == 0 || errno == EINTR else { throw SystemCallError("poll") }
    }
  }

  /// Waits for a duration.
  func sleep(until end: Duration) throws { while try wait(-1, for: 0, until: end) != 0 {} }

  /// The present instant of the monotonic clock.
  var now: Duration {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}

extension Duration {
  /// The milliseconds, rounded up.
  fileprivate var milliseconds: Int {
    let (seconds, attoseconds) = components
    return Int(clamping: seconds) * 1000
      + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }
}
