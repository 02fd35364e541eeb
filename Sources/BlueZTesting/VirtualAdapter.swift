import BlueZ
import DBus
import Streams

/// An adapter as the daemon knows it; isolated to the ``Daemon`` actor.
final class VirtualAdapter {
  /// An object of a client: bluetoothd identifies advertisements, applications and agents by both.
  struct Client: Hashable {
    var name: String
    var path: ObjectPath
  }

  struct Advertising {
    var content: AirAdvertisement
    /// A Boolean value that indicates whether the controller has it; it forgets everything when it is switched off.
    var isOnAir: Bool
    /// Follows the changes of the content.
    var changes: Subscription?
  }

  let index: Int
  let path: ObjectPath
  let address: BluetoothAddress
  let faults = Faults()
  /// The recorded device, if it is no adapter of this host.
  var replay: ReplayProgram?

  /// The requests of clients for the radio, which end with bluetoothd.
  struct Clients {
    var scans: [String: ScanFilter] = [:]
    /// The filters of clients that do not scan yet.
    var filters: [String: ScanFilter] = [:]
    /// The filters of the scan that ended while bluetoothd believes that it goes on.
    var stuck: [ScanFilter]?
    var advertisements: [Client: Advertising] = [:]
    var monitors: [Client: [VirtualMonitor]] = [:]
    /// The turn of the last call that was delayed.
    var turn: Turn?

    /// Ends the belief in a scan that has ended when the filters are others.
    mutating func loosenScan() {
      if let stuck, Array(scans.values) != stuck { self.stuck = nil }
    }
  }

  /// The GATT server, which ends with bluetoothd.
  struct Server {
    var applications: [(client: Client, services: [AttributeService])] = []
    var nextHandle = firstHandle
    var notifiers: [Attribute: Notifier] = [:]
    /// The sockets from which programs take writes.
    var writeSockets: [Attribute: PacketSocket] = [:]
  }

  /// The attempts that wait for an advertisement, beside those of known devices.
  struct Attempts {
    /// Connections to devices that bluetoothd does not know.
    var unseen: [BluetoothAddress: BoundedStream<VirtualDevice.Attempt>.Source] = [:]
    /// L2CAP channels, by their sockets; they are the kernel's, and outlive bluetoothd.
    var channels: [Int: BoundedStream<VirtualDevice.Attempt>.Source] = [:]
  }

  /// What the kernel's management interface shows.
  struct Kernel {
    /// The settings, which last until bluetoothd starts again.
    var controller = VirtualController()
    /// What the controller measures of links, by the addresses of their peers.
    var readings: [BluetoothAddress: LinkReading] = [:]
  }

  // These outlive bluetoothd.
  var isPluggedIn = true
  var bonds: [BluetoothAddress: LinkKey] = [:]
  /// The address under which adapters without a bond receive this one; `nil` for its own.
  var privateAddress: BluetoothAddress?
  /// Devices that are no adapters of the fake, and what they advertise.
  var strangers: [BluetoothAddress: (air: AirAdvertisement, rssi: Int16)] = [:]

  // These do not.
  var object: ServedObject?
  var clients = Clients()
  var server = Server()
  var devices: [BluetoothAddress: VirtualDevice] = [:]
  var attempts = Attempts()
  var kernel = Kernel()

  /// The handles below are those of the Generic Access and Generic Attribute services.
  static let firstHandle: UInt16 = 0x0010

  /// The number of the first adapter: a program that queries the kernel must find none, and not a real one of this
  /// host.
  static let firstNumber = 1000

  init(_ index: Int, address shared: BluetoothAddress? = nil) throws {
    self.index = index
    path = try Names.root.appending("hci\(Self.firstNumber + index)")
    // A locally administered address.
    let number = String(index, radix: 16)
    guard let address = BluetoothAddress("02:EB:00:00:00:" + (number.count < 2 ? "0" : "") + number) else {
      throw DBusError.bluez("InvalidArguments", "the number of adapters is \(index + 1) or more; allowed: at most 256")
    }
    self.address = shared ?? address
  }

  /// The number by which the kernel knows it.
  var number: UInt16 { UInt16(clamping: Self.firstNumber + index) }
  var name: String { "hci\(number)" }
  var isPowered: Bool { replay != nil ? object != nil : object?[Names.adapter, "Powered"]?.bool ?? false }
  var alias: String { object?[Names.adapter, "Alias"]?.string ?? name }
  var services: [AttributeService] { server.applications.flatMap(\.services) }

  /// The advertisement as it is received; several advertisements are received as one, as BlueZ presents them.
  var air: AirAdvertisement? {
    let onAir = clients.advertisements.filter(\.value.isOnAir).sorted {
      ($0.key.name, $0.key.path) < ($1.key.name, $1.key.path)
    }.map(\.value.content)
    guard isPowered, var all = onAir.first else { return nil }
    for one in onAir.dropFirst() { all.add(one) }
    return all
  }

  /// Removes the state that belongs to an instance of bluetoothd, as when that ends or the adapter is unplugged.
  func clear() {
    for device in devices.values { device.remove() }
    for attempt in attempts.unseen.values { attempt.yield(.giveUp) }
    for notifier in server.notifiers.values { notifier.close() }
    closeWriteSockets()
    object?.remove()
    object = nil
    clients = Clients()
    server = Server()
    devices = [:]
  }
}

extension VirtualAdapter {
  func closeWriteSockets() {
    for socket in server.writeSockets.values { socket.close() }
    server.writeSockets = [:]
  }
}

/// A remote device as one adapter knows it; isolated to the ``Daemon`` actor.
final class VirtualDevice {
  /// The next step of a connection attempt.
  enum Attempt: Sendable {
    case tryAgain, giveUp
  }

  let address: BluetoothAddress
  let object: ServedObject
  var link: Link?
  var hasClassicLink = false
  var attempt: BoundedStream<Attempt>.Source?
  var pairing: Task<Void, any Error>?
  /// The services of the peer, as objects below this one.
  var mirrored: [(service: AttributeService, mirror: MirroredService)] = []

  init(address: BluetoothAddress, object: ServedObject) {
    self.address = address
    self.object = object
  }

  subscript(_ property: String) -> Value? { object[Names.device, property] }

  /// Returns the peer's characteristic with a handle.
  func characteristic(_ handle: UInt16) -> MirroredCharacteristic? {
    mirrored.lazy.compactMap { $0.mirror.characteristic(handle) }.first
  }

  /// Returns the peer's characteristic with a descriptor at a handle.
  func characteristic(withDescriptor handle: UInt16) -> MirroredCharacteristic? {
    mirrored.lazy.compactMap { $0.mirror.characteristic(withDescriptor: handle) }.first
  }

  /// Removes the device and everything below it from the bus.
  func remove() {
    attempt?.yield(.giveUp)
    pairing?.cancel()
    for (_, mirror) in mirrored { mirror.remove() }
    mirrored = []
    object.remove()
  }
}

/// A connection between two adapters.
final class Link {
  /// The index of the adapter that made the connection.
  let central: Int
  let mtu: UInt16
  /// The default agent when the connection began.
  let defaultAgent: VirtualAdapter.Client?
  /// What the L2CAP channels over the connection know of it.
  let channels = ChannelLink()
  /// The key that encrypts the connection; `nil` while it is not encrypted.
  var key: LinkKey? {
    didSet { channels.security.withLock { [key] in $0 = key?.level ?? .low } }
  }

  init(from central: VirtualAdapter, mtu: UInt16, defaultAgent: VirtualAdapter.Client?) {
    self.central = central.index
    self.mtu = mtu
    self.defaultAgent = defaultAgent
  }
}

/// The key that two devices share after pairing.
struct LinkKey: Sendable, Hashable {
  /// A Boolean value that indicates whether both users compared a number.
  var isAuthenticated: Bool
  /// A Boolean value that indicates whether it is from LE Secure Connections, and not from legacy pairing.
  var isSecure: Bool

  /// The security level that the kernel derives from the key.
  var level: SecurityLevel { !isAuthenticated ? .medium : isSecure ? .fips : .high }
}
