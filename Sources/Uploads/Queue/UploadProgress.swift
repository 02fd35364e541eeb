internal import Glibc
internal import Streams
internal import Timing

/// The attempts in progress and their bytes: for this process, and through the queue's lock for others.
final class UploadProgress: Sendable {
  /// An attempt in progress.
  private enum Attempt {
    /// The item is read from the store and waits for its credentials.
    case preparing(Task<Void, Never>)
    /// The server has so many bytes of the item, or they are being sent.
    case sending(Task<Void, Never>, bytes: Int64)

    var task: Task<Void, Never> {
      switch self {
      case .preparing(let task), .sending(let task, _): task
      }
    }

    var bytes: Int64? { if case .sending(_, let bytes) = self { bytes } else { nil } }
  }

  private struct State {
    var attempts: [Int64: Attempt] = [:]
    var sentBytes: Int64 = 0
    var lock: QueueLock?
    var publishedAt = Duration.zero
    var speed = LineSpeed()

    var uploader: QueueUploader {
      QueueUploader(processID: getpid(), sentBytes: sentBytes, running: attempts.compactMapValues(\.bytes))
    }

    func publish() { lock?.publish(uploader) }
  }

  /// The shortest interval at which growing numbers are published to other processes.
  private static let interval = Duration.milliseconds(500)

  private let clock: TimeSource
  private let state = Lock(State())

  init(_ clock: TimeSource) { self.clock = clock }

  /// The progress of this process.
  var now: QueueUploader { state.withLock { $0.uploader } }

  /// A Boolean value that indicates whether one part at a time keeps the line busy.
  var isSlow: Bool { state.withLock { $0.speed.isSlow } }

  /// Publishes the progress through a lock from now on; `nil` stops that.
  func publish(through lock: QueueLock?) {
    state.withLock { state in
      state.lock = lock
      state.publish()
    }
  }

  /// Adds an attempt.
  func begin(_ id: Int64, _ task: Task<Void, Never>) { state.withLock { $0.attempts[id] = .preparing(task) } }

  /// Notes that an item is being sent, of which the server has so many bytes already.
  func beginSending(_ id: Int64, after bytes: Int64) {
    state.withLock { state in
      guard let task = state.attempts[id]?.task else { return }
      state.attempts[id] = .sending(task, bytes: bytes)
      state.publish()
    }
  }

  /// Sets the number of bytes of an item that the server has or is being sent.
  func update(_ id: Int64, _ bytes: Int64) {
    let instant = clock.now
    state.withLock { state in
      guard case .sending(let task, let before) = state.attempts[id] else { return }
      state.attempts[id] = .sending(task, bytes: bytes)
      state.sentBytes += max(bytes - before, 0)
      state.speed.add(state.sentBytes, at: instant)
      guard state.publishedAt + Self.interval <= instant else { return }
      state.publishedAt = instant
      state.publish()
    }
  }

  /// Cancels the attempt of an item, if one is in progress.
  func cancel(_ id: Int64) { state.withLock { $0.attempts[id]?.task }?.cancel() }

  /// Removes the attempt of an item.
  func end(_ id: Int64) {
    state.withLock { state in
      guard state.attempts.removeValue(forKey: id)?.bytes != nil else { return }
      state.publish()
    }
  }
}
