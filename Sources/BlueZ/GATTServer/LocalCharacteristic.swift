import Streams

/// A GATT characteristic that this program provides.
///
/// Handlers are called one at a time, in the order of the requests. They deal with whole values: a long read is served
/// from a snapshot that is made for each central when it starts to read, and bluetoothd assembles long writes.
///
/// ```swift
/// let pulse = LocalCharacteristic("2a37", .notify)
/// let application = try await adapter.offer([LocalService("180d", characteristics: [pulse])])
/// if pulse.isSubscribed { try await pulse.notify([0, 72]) }
/// withExtendedLifetime(application) {}
/// ```
public final class LocalCharacteristic: Sendable {
  /// The handling of values that centrals write.
  public enum Writes: Sendable {
    /// Nothing handles writes: the characteristic cannot be written.
    case none
    /// A handler that receives the writing central with each value, and whose errors are sent to it.
    case handler(@Sendable (WriteRequest) async throws -> Void)
    /// A socket, with the least cost for each value. A value does not identify its central (before BlueZ 5.69 all
    /// centrals share the socket) or its offset in a long write, and it cannot be refused. The closure is called on a
    /// thread that it must not block.
    case socket(@Sendable ([UInt8]) -> Void)
  }

  /// The UUID of the characteristic's type.
  public let uuid: BluetoothUUID
  /// The operations that the characteristic permits.
  public let flags: CharacteristicFlags
  /// The descriptors. bluetoothd adds the client configuration (`2902`) and the extended properties (`2900`) by itself.
  public let descriptors: [LocalDescriptor]

  let read: (@Sendable (ReadRequest) async throws -> [UInt8])?
  let writes: Writes
  let authorize: (@Sendable (WriteRequest) async throws -> Void)?
  let state = Lock(State())

  struct State {
    var links: [Link] = []
    var writeSocket: PacketSocket?
    /// The receiver of the confirmations of the present indication.
    var indication: BoundedStream<Confirmations.Event>.Source?
    var observers: [Int: BoundedStream<SubscriptionEvent>.Source] = [:]
    var nextID = 0
    /// The release of bluetoothd, which determines the use of several sockets; `nil` while it is unknown.
    var version: BlueZRelease?
  }

  /// A socket to bluetoothd that carries notifications.
  struct Link: Sendable {
    let id: Int
    /// The central for which the socket was created. Before BlueZ 5.69 the other centrals share it.
    let peer: Peer
    let mtu: Int
    let socket: PacketSocket
  }

  /// Creates a characteristic with handlers.
  /// - Parameters:
  ///   - uuid: The UUID of the characteristic's type.
  ///   - flags: The operations that the characteristic permits.
  ///   - descriptors: The descriptors, apart from the client configuration.
  ///   - read: A handler that returns the whole value for a read, at most 512 bytes; it throws an ``AttributeRefusal``
  ///     to refuse.
  ///   - writes: The handling of values that centrals write.
  ///   - authorize: With the flag ``CharacteristicFlags/authorize``, a handler that is called before a central starts a
  ///     long or reliable write; it throws an ``AttributeRefusal`` to refuse. The request's value is empty, because
  ///     there is none yet. The handler is not called for trusted devices. Without a handler all such writes are
  ///     refused.
  public init(
    _ uuid: BluetoothUUID, _ flags: CharacteristicFlags, descriptors: [LocalDescriptor] = [],
    read: (@Sendable (ReadRequest) async throws -> [UInt8])? = nil, writes: Writes = .none,
    authorize: (@Sendable (WriteRequest) async throws -> Void)? = nil
  ) {
    self.uuid = uuid
    self.flags = flags
    self.descriptors = descriptors
    self.read = read
    self.writes = writes
    self.authorize = authorize
  }

  /// Creates a characteristic whose value never changes.
  /// - Parameters:
  ///   - uuid: The UUID of the characteristic's type.
  ///   - value: The value, at most 512 bytes.
  ///   - flags: The operations that the characteristic permits.
  ///   - descriptors: The descriptors.
  public convenience init(
    _ uuid: BluetoothUUID, value: [UInt8], _ flags: CharacteristicFlags = .read, descriptors: [LocalDescriptor] = []
  ) {
    self.init(uuid, flags, descriptors: descriptors, read: { _ in value })
  }
}
