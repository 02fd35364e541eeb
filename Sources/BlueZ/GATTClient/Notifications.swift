import Streams

/// The values a remote characteristic sends, in order.
///
/// A thread of their own takes them from bluetoothd, which drops without a word what its socket has no room for
/// (167 values of 244 bytes); nothing the program does holds that thread up. Here they wait for the reader, up to a
/// limit. What happens beyond it is the caller's choice, and is never silent: ``received`` is always the sum of what
/// was read, what waits and ``dropped``.
///
/// The sequence ends with the link, with the subscription, or when bluetoothd goes; what has arrived is still
/// delivered. Letting it and its iterators go, or cancelling the reader's task, unsubscribes. One reader at a time.
public struct Notifications: AsyncSequence, Sendable {
  /// What happens to a value for which there is no room.
  public enum Overflow: Sendable, Hashable {
    /// The value that waits longest goes: right for states, where the newest counts.
    case dropOldest
    /// The new value goes: right for messages, whose beginning is worth more than their end.
    case dropNewest
    /// The subscription ends, and the reader gets an error behind the values that wait: right where a gap is worse than
    /// an end.
    case fail
  }

  /// The characteristic that sends.
  public let uuid: BluetoothUUID
  /// What happens beyond the limit.
  public let overflow: Overflow
  private let values: BoundedStream<[UInt8]>

  static func make(
    of uuid: BluetoothUUID, limit: Int, overflow: Overflow, onTermination: @escaping @Sendable () -> Void
  ) -> (Notifications, Source) {
    let (stream, source) = BoundedStream.make(
      of: [UInt8].self, limit: limit, policy: overflow == .dropOldest ? .dropOldest : .dropNewest,
      onTermination: onTermination)
    // Who feeds it has more to put in before the reader is woken.
    let waiter = Lock<UnsafeContinuation<Void, Never>?>(nil)
    return (
      Notifications(uuid: uuid, overflow: overflow, values: stream),
      Source(values: source, overflow: overflow, waiter: waiter)
    )
  }

  /// How many values came so far.
  public var received: Int { values.received }

  /// How many values were dropped so far because the reader was too slow.
  public var dropped: Int { values.dropped }

  /// The iterator; one reader at a time.
  public func makeAsyncIterator() -> Iterator { Iterator(notifications: self, values: values.makeAsyncIterator()) }

  /// Reads the values one by one.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let notifications: Notifications
    fileprivate var values: BoundedStream<[UInt8]>.Iterator

    /// The next value; `nil` when there are no more, or the task is cancelled.
    /// - Throws: ``BlueZError`` with code `.overflowed` behind the last value, when there was no room for another and
    ///   ``Notifications/overflow`` is `.fail`.
    public mutating func next() async throws -> [UInt8]? { try await next(isolation: #isolation) }

    /// The same for a reader on an actor, which stays there.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
      if let value = await values.next(isolation: actor) { return value }
      if notifications.overflow == .fail, notifications.dropped > 0, !Task.isCancelled {
        throw BlueZError(
          .overflowed, "the notifications of \(notifications.uuid) came faster than they were read",
          hint: "read faster, or raise the limit")
      }
      return nil
    }
  }

  /// The end that is fed.
  struct Source: Sendable {
    fileprivate let values: BoundedStream<[UInt8]>.Source
    fileprivate let overflow: Overflow
    fileprivate let waiter: Lock<UnsafeContinuation<Void, Never>?>

    /// Puts a value in; ``wake()`` must follow, soon.
    func yield(_ value: [UInt8]) {
      let (wasRoom, waiting) = values.yieldQuietly(value)
      if let waiting { waiter.withLock { $0 = waiting } }
      if !wasRoom, overflow == .fail { finish() }
    }

    /// Wakes the reader, if it waits.
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
