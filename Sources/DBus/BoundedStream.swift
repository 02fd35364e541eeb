/// A stream with room for a fixed number of elements that counts what it had to drop.
///
/// A reader that falls behind loses elements; it never lets memory grow, and never loses them silently:
/// ``dropped`` says how many, and which end they were taken from is fixed when the stream is made.
///
/// One reader at a time. Cancelling the reader's task, or letting the stream and its iterators go, ends it.
public struct BoundedStream<Element: Sendable>: AsyncSequence, Sendable {
  /// What goes when an element comes and the stream is full.
  public enum Policy: Sendable {
    /// The oldest waiting element: right for states, where the newest is what counts.
    case dropOldest
    /// The new element: right for data, where the beginning of a message is worth more than its end.
    case dropNewest
  }

  private let reader: Reader

  /// Makes a stream and the source that feeds it.
  /// - Parameters:
  ///   - of: what it carries.
  ///   - limit: how many elements may wait, 1 or more.
  ///   - policy: what goes when there is no room.
  ///   - onTermination: called once, when the reader stops (or is cancelled) or the source finishes.
  public static func make(
    of: Element.Type = Element.self, limit: Int, policy: Policy = .dropOldest,
    onTermination: (@Sendable () -> Void)? = nil
  ) -> (stream: BoundedStream, source: Source) {
    let queue = BoundedQueue<Element>(limit: Swift.max(limit, 1), policy: policy, onTermination: onTermination)
    return (BoundedStream(reader: Reader(queue: queue)), Source(queue: queue))
  }

  /// How many elements were put in so far, those that were dropped among them.
  public var received: Int { reader.queue.received }

  /// How many elements were dropped so far because the reader was too slow.
  public var dropped: Int { reader.queue.dropped }

  /// The iterator; one reader at a time.
  public func makeAsyncIterator() -> Iterator { Iterator(reader: reader) }

  /// The reading end of a ``BoundedStream``.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let reader: Reader

    /// The next element; `nil` when the stream has ended or the task is cancelled.
    public mutating func next() async -> Element? { await reader.queue.next() }

    /// The same for a reader on an actor, which stays there.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      await reader.queue.next(isolation: actor)
    }
  }

  /// The feeding end of a ``BoundedStream``.
  public struct Source: Sendable {
    fileprivate let queue: BoundedQueue<Element>

    /// Puts an element in; never waits.
    /// - Returns: `false` when something was dropped, or nobody reads any more.
    @discardableResult
    public func yield(_ element: Element) -> Bool {
      let outcome = queue.put(element)
      outcome.waiter?.resume()
      return outcome.wasRoom
    }

    /// Puts an element in or, when no place would be left after it, `last` in its stead, and ends the stream: the
    /// reader gets every element up to a marker that says that more were lost. For streams that must be complete.
    /// - Returns: `false` when the element did not go in.
    @discardableResult
    public func yield(_ element: Element, orEndWith last: Element) -> Bool {
      queue.put(element, orEndWith: last)
    }

    /// Puts an element in without waking the reader.
    /// - Returns: whether nothing was dropped, and what wakes the reader, when it waits. That must be called, and soon:
    ///   it is for who has more to put in first.
    package func yieldQuietly(_ element: Element) -> (wasRoom: Bool, waiter: UnsafeContinuation<Void, Never>?) {
      queue.put(element)
    }

    /// Ends the stream; what waits is still delivered.
    public func finish() { queue.end(discarding: false) }
  }

  /// Its last reference is the end of reading.
  fileprivate final class Reader: Sendable {
    let queue: BoundedQueue<Element>

    init(queue: BoundedQueue<Element>) { self.queue = queue }

    deinit { queue.end(discarding: true) }
  }
}

extension BoundedStream {
  /// Waits until there is an element, for no longer than a limit, and takes it; also until the stream or the task ends.
  package func waitForFirst(within limit: Duration) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { for await _ in self { return } }
      // Cancelled when the element was quicker.
      group.addTask { try? await Task.sleep(for: limit, clock: .steady) }
      await group.next()
      group.cancelAll()
    }
  }
}
