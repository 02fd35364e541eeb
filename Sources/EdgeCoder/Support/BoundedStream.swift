/// A bounded stream for one consumer that counts what did not fit.
///
/// Who puts elements in learns at once when the buffer is full and can refuse in its turn (an ATT error, a lost
/// marker); nothing grows without limit because a reader is slow.
struct BoundedStream<Element: Sendable>: Sendable {
  /// What to do with an element that does not fit.
  enum Overflow: Sendable {
    /// The new element is refused: for messages whose order and completeness matter.
    case refuseNewest
    /// The oldest element is dropped: for news of which only the latest matter.
    case dropOldest
  }

  /// The elements, for one consumer.
  let elements: AsyncStream<Element>
  private let continuation: AsyncStream<Element>.Continuation
  private let drops = Counter()

  /// Makes a stream that buffers at most `limit` elements.
  init(limit: Int, overflow: Overflow = .refuseNewest) {
    let policy: AsyncStream<Element>.Continuation.BufferingPolicy =
      switch overflow {
      case .refuseNewest: .bufferingOldest(limit)
      case .dropOldest: .bufferingNewest(limit)
      }
    (elements, continuation) = AsyncStream.makeStream(bufferingPolicy: policy)
  }

  /// How many elements were refused or dropped so far.
  var dropped: Int { drops.value }

  /// Puts an element in.
  /// - Returns: false when an element was lost for it, or the stream has ended.
  @discardableResult
  func send(_ element: Element) -> Bool {
    switch continuation.yield(element) {
    case .enqueued: return true
    case .dropped:
      drops.increment()
      return false
    case .terminated: return false
    @unknown default: return false
    }
  }

  /// Puts an element in or, when only one place is left after it, `last` behind it, and ends the stream: the consumer
  /// gets every element up to a marker that says that more were lost.
  /// - Returns: false when the stream has ended.
  @discardableResult
  func send(_ element: Element, orEndWith last: Element) -> Bool {
    guard case .enqueued(let places) = continuation.yield(element) else { return false }
    if places <= 1 {
      continuation.yield(last)
      continuation.finish()
      drops.increment()
    }
    return true
  }

  /// Ends the stream; the consumer still gets what is buffered.
  func finish() { continuation.finish() }

  /// Calls `action` once when the stream has ended or its consumer went away.
  func onTermination(_ action: @Sendable @escaping () -> Void) {
    continuation.onTermination = { _ in action() }
  }
}
