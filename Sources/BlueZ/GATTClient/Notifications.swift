import Streams

/// The values that a remote characteristic sends, in order.
///
/// A thread of its own takes the values from bluetoothd, which silently drops what does not fit into its socket (167
/// values of 244 bytes); nothing in the program delays that thread. The values wait for their consumer up to a limit,
/// beyond which ``overflow`` decides. No loss is silent: ``received`` is always the sum of the values that were read,
/// that wait, and that were ``dropped``.
///
/// ```swift
/// let notifications = try await characteristic.notifications(limit: 100, overflow: .dropOldest)
/// for try await value in notifications { print(value.count, "bytes;", notifications.dropped, "dropped") }
/// ```
///
/// The sequence finishes with the connection, with the subscription, or when bluetoothd stops; values that have arrived
/// are still delivered. Releasing the sequence and its iterators, or cancelling the consumer's task, unsubscribes. Only
/// one consumer may iterate at a time.
public struct Notifications: AsyncSequence, Sendable {
  /// The policy for a value that exceeds the capacity.
  public enum Overflow: Sendable, Hashable {
    /// The oldest waiting value is dropped, which suits states, of which the newest counts.
    case dropOldest
    /// The new value is dropped, which suits messages, whose beginning is worth more than their end.
    case dropNewest
    /// The subscription ends, and the consumer receives an error after the waiting values, which suits data that must
    /// not have gaps.
    case fail
  }

  /// The UUID of the characteristic that sends the values.
  public let uuid: BluetoothUUID
  /// The policy for values that exceed the capacity.
  public let overflow: Overflow
  private let values: BoundedStream<[UInt8]>

  static func make(
    of uuid: BluetoothUUID, limit: Int, overflow: Overflow, onTermination: @escaping @Sendable () -> Void
  ) -> (Notifications, Source) {
    let (stream, source) = BoundedStream.make(
      of: [UInt8].self, limit: limit, policy: overflow == .dropOldest ? .dropOldest : .dropNewest,
      onTermination: onTermination)
    // The producer adds further values before it wakes the consumer.
    let waiter = Lock<UnsafeContinuation<Void, Never>?>(nil)
    return (
      Notifications(uuid: uuid, overflow: overflow, values: stream),
      Source(values: source, overflow: overflow, waiter: waiter)
    )
  }

  /// The number of values that have arrived so far.
  public var received: Int { values.received }

  /// The number of values that were dropped so far because they were read too slowly.
  public var dropped: Int { values.dropped }

  /// Returns the iterator; only one consumer may iterate at a time.
  public func makeAsyncIterator() -> Iterator { Iterator(notifications: self, values: values.makeAsyncIterator()) }

  /// An iterator over the values of a subscription.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let notifications: Notifications
    fileprivate var values: BoundedStream<[UInt8]>.Iterator

    /// Returns the next value; `nil` when there are no more, or the task is cancelled.
    /// - Throws: ``BlueZError`` with code `.overflowed` after the last value, when a value exceeded the capacity and
    ///   ``Notifications/overflow`` is `.fail`.
    public mutating func next() async throws -> [UInt8]? { try await next(isolation: #isolation) }

    /// Returns the next value without leaving the actor of the consumer.
    /// - Throws: The errors of ``next()``.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
      if let value = await values.next(isolation: actor) { return value }
      if notifications.overflow == .fail, notifications.dropped > 0, !Task.isCancelled {
        throw BlueZError(
          .overflowed, "the notifications of \(notifications.uuid) arrived faster than they were read",
          hint: "read faster, or increase the limit")
      }
      return nil
    }
  }

  /// The end of the sequence that receives values.
  struct Source: Sendable {
    fileprivate let values: BoundedStream<[UInt8]>.Source
    fileprivate let overflow: Overflow
    fileprivate let waiter: Lock<UnsafeContinuation<Void, Never>?>

    /// Adds a value; a call of ``wake()`` must follow soon.
    func yield(_ value: [UInt8]) {
      let (wasRoom, waiting) = values.yieldQuietly(value)
      if let waiting { waiter.withLock { $0 = waiting } }
      if !wasRoom, overflow == .fail { finish() }
    }

    /// Wakes the consumer, if it is waiting.
    func wake() {
      waiter.withLock { waiter in
        defer { waiter = nil }
        return waiter
      }?.resume()
    }

    func finish() {
      wake()
      values.finish()
    }
  }
}
