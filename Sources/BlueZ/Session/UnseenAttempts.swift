import DBus
import Streams

/// The calls of `Adapter1.ConnectDevice` that are under way.
///
/// bluetoothd cannot withdraw such a call, which lasts until the kernel gives up, 41 s on Linux 6.1. So a further attempt
/// joins the call, and a link that no caller waits for any more is ended as soon as it exists.
struct UnseenAttempts: Sendable {
  /// The addressee of a call.
  struct Target: Sendable, Hashable {
    let adapter: ObjectPath
    let address: BluetoothAddress
    let type: AddressType
    /// The generation of the instance of bluetoothd that is called: an attempt does not join that of an earlier one.
    let generation: Int
  }

  /// A caller that waits for the outcome.
  struct Waiter: Sendable {
    let source: BoundedStream<Result<Link, any Error>>.Source
    let lifetime: LinkLifetime
    /// The link that the call has made, also for a caller that leaves at the same moment.
    let link = Lock<Link?>(nil)
  }

  /// A link that a call has made.
  struct Link: Sendable {
    let device: ObjectPath
    /// It ends with the first reply to the session's own connection: the call has another one, and signals of the time
    /// before it may still be on their way.
    let attempt: Leases.Attempt
  }

  private var waiters: [Target: [Int: Waiter]] = [:]
  private var nextID = 0

  /// Adds a caller.
  /// - Returns: Its identifier, and `true` if the call is still to be made.
  mutating func join(_ target: Target, _ waiter: Waiter) -> (id: Int, isFirst: Bool) {
    defer { nextID += 1 }
    let isFirst = waiters[target] == nil
    waiters[target, default: [:]][nextID] = waiter
    return (nextID, isFirst)
  }

  /// Removes a caller that does not wait any more; the call goes on.
  mutating func leave(_ target: Target, _ id: Int) { waiters[target]?[id] = nil }

  /// Removes a call that has ended.
  /// - Returns: The callers that wait for it.
  mutating func end(_ target: Target) -> [Waiter] { waiters.removeValue(forKey: target).map { Array($0.values) } ?? [] }
}
