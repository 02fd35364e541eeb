import Streams

/// A characteristic this program offers.
///
/// Its handlers are called one at a time, in the order the requests came. They see whole values: long reads are cut
/// from a snapshot taken for each central when it begins to read, and bluetoothd puts long writes together.
public final class LocalCharacteristic: Sendable {
  /// Who takes what centrals write.
  public enum Writes: Sendable {
    /// Nobody; the characteristic cannot be written.
    case none
    /// A handler that knows who wrote, and whose errors reach the central.
    case handler(@Sendable (WriteRequest) async throws -> Void)
    /// A socket: least work for each value, but a value says not whose it is (all centrals share the socket on
    /// BlueZ before 5.69), not where a long write's pieces belong, and cannot be refused. Called on a thread that must
    /// not wait.
    case socket(@Sendable ([UInt8]) -> Void)
  }

  /// What it is.
  public let uuid: BluetoothUUID
  /// What may be done with it.
  public let flags: CharacteristicFlags
  /// Its descriptors. The client configuration (`2902`) and the extended properties (`2900`) come by themselves.
  public let descriptors: [LocalDescriptor]

  let read: (@Sendable (ReadRequest) async throws -> [UInt8])?
  let writes: Writes
  let authorize: (@Sendable (WriteRequest) async throws -> Void)?
  let state = Lock(State())

  struct State {
    var links: [Link] = []
    var writeSocket: PacketSocket?
    /// Where the indication on its way learns of its confirmations.
    var indication: BoundedStream<Confirmations.Event>.Source?
    var observers: [Int: BoundedStream<SubscriptionEvent>.Source] = [:]
    var nextID = 0
    /// What this bluetoothd does with several sockets; `nil` while not known.
    var version: BlueZRelease?
  }

  /// A socket to bluetoothd that carries notifications.
  struct Link: Sendable {
    let id: Int
    /// The central it was made for. Before 5.69 the others share it.
    let peer: Peer
    let mtu: Int
    let socket: PacketSocket
  }

  /// Describes a characteristic.
  /// - Parameters:
  ///   - uuid: what it is.
  ///   - flags: what may be done with it.
  ///   - descriptors: beside the client configuration.
  ///   - read: answers a read with the whole value, at most 512 bytes; throw an ``AttributeRefusal`` to refuse.
  ///   - writes: who takes what is written.
  ///   - authorize: with the flag ``CharacteristicFlags/authorize``, asked whether a central may begin a long or
  ///     reliable write; throw an ``AttributeRefusal`` to refuse. It is asked before there is a value, so the request's
  ///     is empty, and not for devices that are trusted. Without it all are refused.
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

  /// Describes a characteristic whose value never changes.
  /// - Parameters:
  ///   - uuid: what it is.
  ///   - value: at most 512 bytes.
  ///   - flags: who may read it.
  ///   - descriptors: what is said about it.
  public convenience init(
    _ uuid: BluetoothUUID, value: [UInt8], _ flags: CharacteristicFlags = .read, descriptors: [LocalDescriptor] = []
  ) {
    self.init(uuid, flags, descriptors: descriptors, read: { _ in value })
  }
}
