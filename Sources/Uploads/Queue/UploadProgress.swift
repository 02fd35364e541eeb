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
    case sending(Task<Void, Never>, bytes: Int64, parts: Parts = Parts())

    var task: Task<Void, Never> {
      switch self {
      case .preparing(let task), .sending(let task, _, _): task
      }
    }

    var bytes: Int64? { if case .sending(_, let bytes, _) = self { bytes } else { nil } }

    /// The parts of the item; of one that is sent in one request, none.
    var parts: Parts {
      get { if case .sending(_, _, let parts) = self { parts } else { Parts() } }
      set { if case .sending(let task, let bytes, _) = self { self = .sending(task, bytes: bytes, parts: newValue) } }
    }
  }

  /// The parts of an item that the server does not have.
  private struct Parts {
    var beingSent = 0
    var waiting = 0
  }

  private struct State {
    var attempts: [Int64: Attempt] = [:]
    var sentBytes: Int64 = 0
    var lock: QueueLock?
    var publishedAt = Duration.zero
    var line = Line()
    /// The number of requests with bytes of items that are sent at a time.
    var requests: Int
    /// The number of items that are sent at a time.
    var items: Int
    /// The instant at which both were decided last.
    var followedAt = Duration.zero

    /// The number of requests that the attempts in progress occupy: each of them one at least.
    var occupied: Int { attempts.values.reduce(0) { $0 + max($1.parts.beingSent, 1) } }
    /// The number of requests that the attempts in progress can use beside their first ones.
    var wanted: Int { attempts.values.reduce(0) { $0 + max($1.parts.beingSent + $1.parts.waiting - 1, 0) } }

    var uploader: QueueUploader {
      QueueUploader(processID: getpid(), sentBytes: sentBytes, running: attempts.compactMapValues(\.bytes))
    }

    func publish() { lock?.publish(uploader) }

    /// Decides anew how many requests and items are sent at a time, by what the line has shown: over a slow line large
    /// items use requests for their parts first.
    /// - Returns: `true` if the number of items is another one.
    mutating func followLine(usual: Int) -> Bool {
      let before = items
      requests = line.requests(usual: usual)
      items = max(requests - wanted, min(requests, usual))
      return items != before
    }
  }

  /// The shortest interval at which growing numbers are published to other processes.
  private static let interval = Duration.milliseconds(500)

  private let clock: TimeSource
  /// The number of requests at a time over a line that is not slow.
  private let usual: Int
  private let state: Lock<State>
  /// Signals that ``items`` is another number.
  let itemsChanged = WakeSignal()

  /// - Parameter requests: The number of requests with bytes of items that are sent at a time over a line that is not slow.
  init(_ clock: TimeSource, requests: Int) {
    self.clock = clock
    usual = requests
    state = Lock(State(requests: requests, items: requests))
  }

  /// The progress of this process.
  var now: QueueUploader { state.withLock { $0.uploader } }

  /// The number of items to send at a time, decided while bytes are sent, every ``UploadQueue/lineInterval`` at most.
  var items: Int { state.withLock { $0.items } }

  /// Adds the time from a small request to its response.
  func add(roundTrip time: Duration) {
    state.withLock { state in
      state.line.add(roundTrip: time)
      if state.followLine(usual: usual) { itemsChanged.signal() }
    }
  }

  /// Forgets the line: the network is another one.
  func forgetLine() {
    state.withLock { state in
      state.line = Line()
      if state.followLine(usual: usual) { itemsChanged.signal() }
    }
  }

  /// Sets the number of parts of an item that wait to be sent, at the beginning of an attempt.
  func wait(_ id: Int64, parts: Int) { state.withLock { $0.attempts[id]?.parts = Parts(waiting: parts) } }

  /// Takes a request for the next part of an item, if one is free; the first one always is.
  func beginPart(_ id: Int64) -> Bool {
    state.withLock { state in
      guard var parts = state.attempts[id]?.parts, parts.waiting > 0,
        parts.beingSent == 0 || state.occupied < state.requests
      else { return false }
      parts.waiting -= 1
      parts.beingSent += 1
      state.attempts[id]?.parts = parts
      return true
    }
  }

  /// Gives back the request of a part.
  func endPart(_ id: Int64) { state.withLock { $0.attempts[id]?.parts.beingSent -= 1 } }

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
  /// - Parameter parts: The number of parts that are to be sent, as far as is known: no items take their requests.
  func beginSending(_ id: Int64, after bytes: Int64, parts: Int = 0) {
    state.withLock { state in
      guard let task = state.attempts[id]?.task else { return }
      state.attempts[id] = .sending(task, bytes: bytes, parts: Parts(waiting: parts))
      state.publish()
    }
  }

  /// Sets the number of bytes of an item that the server has or is being sent.
  func update(_ id: Int64, _ bytes: Int64) {
    let instant = clock.now
    state.withLock { state in
      guard case .sending(let task, let before, let parts) = state.attempts[id] else { return }
      state.attempts[id] = .sending(task, bytes: bytes, parts: parts)
      state.sentBytes += max(bytes - before, 0)
      state.line.add(state.sentBytes, at: instant)
      if state.followedAt + UploadQueue.lineInterval <= instant {
        state.followedAt = instant
        if state.followLine(usual: usual) { itemsChanged.signal() }
      }
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
