/// A stream with room for a fixed number of elements that counts what it had to drop.
///
/// A reader that falls behind loses elements; it never lets memory grow, and never loses them silently:
/// ``dropped`` says how many, and which end they were taken from is fixed when the stream is made.
public struct BoundedStream<Element: Sendable>: AsyncSequence, Sendable {
  /// What goes when an element comes and the stream is full.
  public enum Policy: Sendable {
    /// The oldest waiting element: right for states, where the newest is what counts.
    case dropOldest
    /// The new element: right for data, where the beginning of a message is worth more than its end.
    case dropNewest
  }

  private let stream: AsyncStream<Element>
  private let counter: Lock<Int>

  /// Makes a stream and the source that feeds it.
  /// - Parameters:
  ///   - limit: how many elements may wait, 1 or more.
  ///   - policy: what goes when there is no room.
  ///   - onTermination: called once, when the reader stops (or is cancelled) or the source finishes.
  public static func make(
    of: Element.Type = Element.self, limit: Int, policy: Policy = .dropOldest,
    onTermination: (@Sendable () -> Void)? = nil
  ) -> (stream: BoundedStream, source: Source) {
    let counter = Lock(0)
    let buffering: AsyncStream<Element>.Continuation.BufferingPolicy =
      switch policy {
      case .dropOldest: .bufferingNewest(Swift.max(limit, 1))
      case .dropNewest: .bufferingOldest(Swift.max(limit, 1))
      }
    let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: buffering)
    if let onTermination { continuation.onTermination = { _ in onTermination() } }
    return (BoundedStream(stream: stream, counter: counter), Source(continuation: continuation, counter: counter))
  }

  /// How many elements were dropped so far because the reader was too slow.
  public var dropped: Int { counter.withLock { $0 } }

  /// The iterator; one reader at a time.
  public func makeAsyncIterator() -> AsyncStream<Element>.AsyncIterator { stream.makeAsyncIterator() }

  /// The feeding end of a ``BoundedStream``.
  public struct Source: Sendable {
    fileprivate let continuation: AsyncStream<Element>.Continuation
    fileprivate let counter: Lock<Int>

    /// Puts an element in; never waits.
    /// - Returns: `false` when something was dropped, or nobody reads any more.
    @discardableResult
    public func yield(_ element: Element) -> Bool {
      switch continuation.yield(element) {
      case .enqueued: return true
      case .dropped:
        counter.withLock { $0 += 1 }
        return false
      case .terminated: return false
      @unknown default: return false
      }
    }

    /// Ends the stream; what waits is still delivered.
    public func finish() { continuation.finish() }
  }
}
