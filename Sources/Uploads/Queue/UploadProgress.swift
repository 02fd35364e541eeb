internal import Glibc
internal import Streams
internal import Timing

/// How far the items under way are, for this program, and for others that look at the queue.
final class UploadProgress: Sendable {
  private struct State {
    var now = QueueUploader(processID: getpid())
    var lock: QueueLock?
    var toldAt = Duration.zero
  }

  /// How often others are told that something gets on.
  private static let pause = Duration.milliseconds(500)

  private let clock: TimeSource
  private let state = Lock(State())

  init(_ clock: TimeSource) { self.clock = clock }

  /// How far it is.
  var now: QueueUploader { state.withLock { $0.now } }

  /// From now on others are told through this lock, or no longer.
  func tell(through lock: QueueLock?) {
    state.withLock { state in
      state.lock = lock
      lock?.tell(state.now)
    }
  }

  /// An item is under way, of which the server has so many bytes already.
  func begin(_ id: Int64, having bytes: Int64) {
    state.withLock { state in
      state.now.running[id] = bytes
      state.lock?.tell(state.now)
    }
  }

  /// The server has so many bytes of an item under way, or is being sent them.
  func note(_ id: Int64, _ bytes: Int64) {
    let instant = clock.now
    state.withLock { state in
      guard let before = state.now.running[id] else { return }
      state.now.running[id] = bytes
      state.now.sentBytes += max(bytes - before, 0)
      guard state.toldAt + Self.pause <= instant else { return }
      state.toldAt = instant
      state.lock?.tell(state.now)
    }
  }

  /// An item is not under way any more.
  func end(_ id: Int64) {
    state.withLock { state in
      guard state.now.running.removeValue(forKey: id) != nil else { return }
      state.lock?.tell(state.now)
    }
  }
}
