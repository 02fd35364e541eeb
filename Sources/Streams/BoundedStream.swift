/// A stream with room for a fixed number of elements that counts the elements it drops.
///
/// A reader that falls behind loses elements, but memory never grows and no loss goes unnoticed: ``dropped`` says how
/// many were lost, and the ``Policy`` chosen at the start says at which end.
///
/// ```swift
/// let (stream, source) = BoundedStream.make(of: Int.self, limit: 16)
/// for number in 1...20 { source.yield(number) }
/// source.finish()
/// for await number in stream { print(number) }  // 5 … 20
/// print("lost:", stream.dropped)  // 4
/// ```
///
/// A stream has one reader at a time. It ends when the source finishes, when the reader's task is cancelled, and when
/// the last reference to the stream and its iterators goes.
public struct BoundedStream<Element: Sendable>: AsyncSequence, Sendable {
  /// The element to drop when a new one arrives and the stream is full.
  public enum Policy: Sendable {
    /// Drops the oldest waiting element: right for states, where the newest counts.
    case dropOldest
    /// Drops the new element: right for data, where the beginning of a message is worth more than its end.
    case dropNewest
  }

  private let reader: Reader

  /// Creates a stream and the source that feeds it.
  /// - Parameters:
  ///   - of: The type of the elements.
  ///   - limit: The number of elements that may wait for the reader; less than 1 counts as 1.
  ///   - policy: The element to drop when there is no room.
  ///   - onTermination: A closure that runs once: when the reader stops or is cancelled, or the source finishes.
  public static func make(
    of: Element.Type = Element.self, limit: Int, policy: Policy = .dropOldest,
    onTermination: (@Sendable () -> Void)? = nil
  ) -> (stream: BoundedStream, source: Source) {
    let queue = BoundedQueue<Element>(limit: Swift.max(limit, 1), policy: policy, onTermination: onTermination)
    return (BoundedStream(reader: Reader(queue: queue)), Source(queue: queue))
  }

  /// The number of elements yielded so far, dropped ones included.
  public var received: Int { reader.queue.received }

  /// The number of elements dropped so far because the reader was too slow.
  public var dropped: Int { reader.queue.dropped }

  /// Returns an iterator; only one reader may use the stream at a time.
  public func makeAsyncIterator() -> Iterator { Iterator(reader: reader) }

  /// The reading end of a bounded stream.
  public struct Iterator: AsyncIteratorProtocol {
    @usableFromInline let reader: Reader

    /// Waits for the next element; returns `nil` when the stream has ended or the task is cancelled.
    @inlinable
    public mutating func next() async -> Element? { await reader.queue.next() }

    /// Waits for the next element without leaving the given actor.
    @inlinable
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      await reader.queue.next(isolation: actor)
    }
  }

  /// The feeding end of a bounded stream.
  public struct Source: Sendable {
    @usableFromInline let queue: BoundedQueue<Element>

    /// Adds an element without waiting.
    /// - Returns: `false` when an element was dropped, or the stream has ended.
    @discardableResult @inlinable
    public func yield(_ element: Element) -> Bool {
      let outcome = queue.put(element)
      outcome.waiter?.resume()
      return outcome.wasRoom
    }

    /// Adds an element or, when no place would be left after it, adds `last` instead and ends the stream.
    ///
    /// For streams that must be complete: the reader gets every element up to a marker that says that more were lost.
    /// - Returns: `false` when the element was not added.
    @discardableResult
    public func yield(_ element: Element, orEndWith last: Element) -> Bool {
      queue.put(element, orEndWith: last)
    }

    /// Adds an element without waking the reader, for a source that adds several in a row.
    /// - Returns: Whether nothing was dropped, and the waiting reader's continuation, which the caller must resume soon.
    package func yieldQuietly(_ element: Element) -> (wasRoom: Bool, waiter: UnsafeContinuation<Void, Never>?) {
      queue.put(element)
    }

    /// Ends the stream; elements that wait are still delivered.
    public func finish() { queue.end(discarding: false) }
  }

  /// The reader's share of the queue; reading ends with its last reference.
  @usableFromInline
  final class Reader: Sendable {
    @usableFromInline let queue: BoundedQueue<Element>

    init(queue: BoundedQueue<Element>) { self.queue = queue }

    @usableFromInline
    deinit { queue.end(discarding: true) }
  }
}
