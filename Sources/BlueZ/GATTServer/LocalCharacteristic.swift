import DBus

/// A characteristic this program offers.
///
/// Its handlers are called one at a time, in the order the requests came. They see whole values: long reads are cut
/// from a snapshot taken for each central when it begins to read.
public final class LocalCharacteristic: Sendable {
  /// Who takes what centrals write.
  public enum Writes: Sendable {
    /// Nobody; the characteristic cannot be written.
    case none
    /// A handler that knows who wrote, and whose errors reach the central.
    case handler(@Sendable (WriteRequest) async throws -> Void)
    /// A socket: least work for each value, but a value says not whose it is (all centrals share the socket on
    /// BlueZ before 5.69) and cannot be refused. Called on a thread that must not wait.
    case socket(@Sendable ([UInt8]) -> Void)
  }

  /// What it is.
  public let uuid: BluetoothUUID
  /// What may be done with it.
  public let flags: CharacteristicFlags
  /// Its descriptors. The client configuration (`2902`) comes by itself.
  public let descriptors: [LocalDescriptor]

  let read: (@Sendable (ReadRequest) async throws -> [UInt8])?
  let writes: Writes
  let state = Lock(State())

  struct State {
    /// The whole value each central is reading in pieces.
    var snapshots: [Peer: [UInt8]] = [:]
    var links: [Link] = []
    var writeSocket: PacketSocket?
    /// Property-change notifications (indications) are on.
    var notifying = false
    var object: ExportedObject?
    var observers: [Int: BoundedStream<SubscriptionEvent>.Source] = [:]
    var nextID = 0
    /// What this bluetoothd does with several sockets; `nil` while not known.
    var version: BlueZVersion?
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
  public init(
    _ uuid: BluetoothUUID, _ flags: CharacteristicFlags, descriptors: [LocalDescriptor] = [],
    read: (@Sendable (ReadRequest) async throws -> [UInt8])? = nil, writes: Writes = .none
  ) {
    self.uuid = uuid
    self.flags = flags
    self.descriptors = descriptors
    self.read = read
    self.writes = writes
  }
}
