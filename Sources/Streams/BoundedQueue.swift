/// The ring buffer that the two ends of a ``BoundedStream`` share.
///
/// `AsyncStream` wakes its reader for every element, and a burst of signals then costs more in waking than in everything
/// else. Here elements always go through the buffer, so the source may wake the reader later.
///
/// Inlinable, so that a module with a known element type gets specialised code.
@usableFromInline
final class BoundedQueue<Element: Sendable>: Sendable {
  @usableFromInline typealias Waiter = UnsafeContinuation<Void, Never>
  @usableFromInline typealias OnTermination = @Sendable () -> Void

  @usableFromInline
  struct State {
    /// The ring: `count` elements from `first` on.
    @usableFromInline var ring: [Element?] = []
    @usableFromInline var first = 0
    @usableFromInline var count = 0
    @usableFromInline var received = 0
    @usableFromInline var dropped = 0
    @usableFromInline var hasEnded = false
    @usableFromInline var waiter: Waiter?
    @usableFromInline var onTermination: OnTermination?

    @usableFromInline
    init(onTermination: OnTermination?) { self.onTermination = onTermination }
  }

  @usableFromInline let state: Lock<State>
  @usableFromInline let limit: Int
  @usableFromInline let policy: BoundedStream<Element>.Policy

  init(limit: Int, policy: BoundedStream<Element>.Policy, onTermination: (@Sendable () -> Void)?) {
    self.limit = limit
    self.policy = policy
    state = Lock(State(onTermination: onTermination))
  }

  var received: Int { state.withLock { $0.received } }

  var dropped: Int { state.withLock { $0.dropped } }

  /// Adds an element unless the stream has ended.
  /// - Returns: Whether it was added without loss, and the reader to wake.
  @inlinable
  func put(_ element: Element) -> (wasRoom: Bool, waiter: Waiter?) {
    // Released after the lock: a deinitialiser may run foreign code.
    var loser: Element?
    let outcome = state.withLock { state -> (Bool, Waiter?) in
      guard !state.hasEnded else { return (false, nil) }
      state.received += 1
      let isFull = state.count == limit
      if isFull {
        state.dropped += 1
        guard policy == .dropOldest else { return (false, nil) }
        loser = Self.take(&state)
      }
      append(element, &state)
      defer { state.waiter = nil }
      return (!isFull, state.waiter)
    }
    withExtendedLifetime(loser) {}
    return outcome
  }

  /// Adds an element if a place is left after it; otherwise adds the marker and ends the stream.
  func put(_ element: Element, orEndWith last: Element) -> Bool {
    let (fits, waiter, onTermination) = state.withLock { state in
      guard !state.hasEnded else { return (false, Waiter?.none, OnTermination?.none) }
      state.received += 1
      let fits = state.count < limit - 1
      if fits {
        append(element, &state)
      } else {
        state.dropped += 1
        // Full, when others put in without leaving a place: the marker stands for the newest too.
        if state.count == limit { dropNewest(&state) }
        append(last, &state)
        state.hasEnded = true
      }
      defer {
        state.waiter = nil
        if !fits { state.onTermination = nil }
      }
      return (fits, state.waiter, fits ? nil : state.onTermination)
    }
    waiter?.resume()
    onTermination?()
    return fits
  }

  /// Waits for the next element where the caller runs: a reader on an actor must not leave it for each element.
  @inlinable
  func next(isolation: isolated (any Actor)? = #isolation) async -> Element? {
    // The fast path, without the bookkeeping of waiting.
    if !Task.isCancelled, let element = state.withLock({ Self.take(&$0) }) { return element }
    await withTaskCancellationHandler {
      await withUnsafeContinuation { (waiter: Waiter) in
        let isReady = state.withLock { state in
          precondition(state.waiter == nil, "a BoundedStream has one reader at a time")
          if state.count > 0 || state.hasEnded { return true }
          state.waiter = waiter
          return false
        }
        if isReady { waiter.resume() }
      }
    } onCancel: {
      end(discarding: false)
    }
    return state.withLock { Self.take(&$0) }
  }

  /// Ends the stream; only the first call counts.
  /// - Parameter discarding: Whether waiting elements are released, because nobody will read them.
  @inlinable
  func end(discarding: Bool) {
    // Released after the lock, as in `put`.
    var rest: [Element?] = []
    let (waiter, onTermination) = state.withLock { state in
      if discarding {
        swap(&rest, &state.ring)
        state.count = 0
      }
      state.hasEnded = true
      defer {
        state.waiter = nil
        state.onTermination = nil
      }
      return (state.waiter, state.onTermination)
    }
    waiter?.resume()
    onTermination?()
    withExtendedLifetime(rest) {}
  }

  @inlinable
  static func take(_ state: inout State) -> Element? {
    guard state.count > 0 else { return nil }
    let element = state.ring[state.first].take()
    state.first = state.first + 1 == state.ring.count ? 0 : state.first + 1
    state.count -= 1
    return element
  }

  private func dropNewest(_ state: inout State) {
    let newest = (state.first + state.count - 1) % state.ring.count
    state.ring[newest] = nil
    state.count -= 1
    state.dropped += 1
  }

  @inlinable
  func append(_ element: Element, _ state: inout State) {
    if state.count == state.ring.count {
      // Grows by doubling, so that a large limit costs nothing while it is not used.
      let ordered = state.ring[state.first...] + state.ring[..<state.first]
      let room = min(limit, max(8, state.count * 2))
      state.ring = ordered + [Element?](repeating: nil, count: room - state.count)
      state.first = 0
    }
    let end = state.first + state.count
    state.ring[end < state.ring.count ? end : end - state.ring.count] = element
    state.count += 1
  }
}
