import CNetlink
import Foundation

@testable import BlueZ
@testable import DBus
@testable import NetworkPath
@testable import SystemState

@_silgen_name("dbus_message_demarshal")
private func demarshal(_ bytes: UnsafePointer<CChar>, _ count: CInt, _ error: OpaquePointer?) -> OpaquePointer?
@_silgen_name("dbus_message_marshal")
private func marshal(
  _ message: OpaquePointer, _ bytes: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>,
  _ count: UnsafeMutablePointer<CInt>
) -> CInt

extension Target {
  static let buses = [
    Target("dbus-message", seeds: [added, changed, everything], take: message),
    Target("dbus-names", texts: ["a{sv}", "(ay(ii)as)", "/org/bluez/hci0", "org.bluez.Device1"]) { bytes in
      let text = String(decoding: bytes, as: UTF8.self)
      _ = try? ObjectPath(text)
      _ = try Signature(text)
    },
    Target(
      "bluez-values",
      texts: [
        "00:AA:01:00:00:41", "0000180f-0000-1000-8000-00805f9b34fb", "180f", String(repeating: "\u{1}", count: 16),
      ]
    ) { bytes in
      let text = String(decoding: bytes, as: UTF8.self)
      _ = BluetoothAddress(text)
      if let uuid = BluetoothUUID(text) { require(BluetoothUUID(uuid.description) == uuid, "another UUID: \(uuid)") }
      _ = ConnectionInfo(bytes)
      _ = ManagementPacket(bytes)
      _ = L2CAPSocketAddress(bytes)
    },
    Target("management-packet", seeds: [power, parameters, defaults], take: management),
    Target("netlink", seeds: [link], take: netlink),
    Target("resolver-file", texts: ["nameserver 127.0.0.53\nnameserver ::1%lo\n# x\noptions edns0\n"]) { bytes in
      let text = String(decoding: bytes, as: UTF8.self)
      _ = ResolverFile.servers(in: text)
      if let address = IPAddress(text) {
        require(IPAddress(address.description) == address, "another address: \(address)")
      }
    },
  ]

  /// Events and replies of the kernel's management interface: the power of a link, its parameters, the defaults.
  private static let power = ManagementPacket(1, 0, [0x31, 0, 0] + peer + [0xc4, 4, 127]).bytes
  private static let parameters = ManagementPacket(0x1c, 0, peer + [1, 24, 0, 40, 0, 2, 0, 0xf4, 1]).bytes
  private static let defaults = ManagementPacket(
    1, 0, [0x4b, 0, 0, 0x17, 0, 2, 24, 0, 0x18, 0, 2, 40, 0, 0x19, 0, 2, 0, 0, 0x1a, 0, 2, 42, 0]
  ).bytes
  private static let peer: [UInt8] = [0x42, 0, 0, 1, 0xaa, 0, 1]

  private static func management(_ bytes: [UInt8]) throws {
    guard let packet = ManagementPacket(bytes) else { return }
    require(ManagementPacket(packet.bytes) == packet, "another packet: \(packet)")
    for content in [packet.parameters, packet.reply(to: 0x31, 0)?.parameters ?? []] {
      _ = LinkReading(content, of: peer)
      _ = AdapterSettings(content)
      _ = PHYConfiguration(content)
      _ = ConnectionParameters(event: content, of: peer)
    }
    let reply = packet.reply(to: 0x4b, 0)
    guard let parameters = reply.flatMap({ ConnectionParameters(defaults: $0.parameters) }) else { return }
    let again = ConnectionParameters(defaults: try parameters.defaults("fuzzing"))
    require(again == parameters, "other parameters: \(parameters)")
  }

  private static let device: [String: Value] = [
    "Address": .string("00:AA:01:00:00:42"), "Alias": .string("Omi"), "RSSI": .int16(-60), "Connected": .bool(true),
    "UUIDs": .strings(["0000180f-0000-1000-8000-00805f9b34fb"]),
    "ManufacturerData": .dictionary(of: "qv", [Value.Entry(.uint16(76), .variant(.bytes([1, 2, 3])))]),
    "AdvertisingFlags": .bytes([6]), "TxPower": .int16(4), "Appearance": .uint16(960),
  ]
  private static let added = signal(
    "InterfacesAdded",
    [
      .objectPath("/org/bluez/hci0/dev_1"),
      .dictionary(
        of: "sa{sv}", [Value.Entry(.string("org.bluez.Device1"), .properties(device))]),
    ])
  private static let changed = signal(
    "PropertiesChanged", [.string("org.bluez.Device1"), .properties(device), .strings(["RSSI"])])
  private static let everything = signal(
    "Other", [.byte(1), .bool(true), .int64(-3), .double(0.5), .signature("ay"), .bytes([1]), .variant(.uint32(7))])

  private static func signal(_ member: String, _ arguments: [Value]) -> [UInt8] {
    let interface =
      member == "PropertiesChanged" ? "org.freedesktop.DBus.Properties" : "org.freedesktop.DBus.ObjectManager"
    let message = try! RawMessage.signal(path: "/", interface: interface, member: member)
    try! message.append(arguments)
    var bytes: UnsafeMutablePointer<CChar>?
    var count: CInt = 0
    require(marshal(message.pointer, &bytes, &count) != 0, "no message")
    defer { free(bytes) }
    return UnsafeBufferPointer(start: bytes, count: Int(count)).map { UInt8(bitPattern: $0) }
  }

  /// What a program or bluetoothd sends: values, and from them the objects and what a device advertises.
  private static func message(_ bytes: [UInt8]) {
    let pointer = bytes.withUnsafeBytes { bytes in
      demarshal(bytes.assumingMemoryBound(to: CChar.self).baseAddress!, CInt(bytes.count), nil)
    }
    guard let pointer else { return }
    let message = RawMessage(owning: pointer)
    let values = message.values
    var cache = ObjectCache()
    for member in ["InterfacesAdded", "PropertiesChanged", "Disconnected", "InterfacesRemoved"] {
      let interface = member == "PropertiesChanged" ? "org.freedesktop.DBus.Properties" : "org.bluez.Device1"
      _ = cache.apply(Signal(sender: nil, path: "/", interface: interface, member: member, arguments: values))
    }
    for value in values {
      _ = value.bytes
      _ = value.strings
      guard let properties = value.properties else { continue }
      _ = AdvertisementData(properties, heard: [])
    }
    // What was read can be written.
    guard let copy = try? RawMessage.signal(path: "/", interface: "a.b", member: "C") else { return }
    try? copy.append(values)
  }

  /// Links, addresses and routes of the kernel; only root can send them, and newer kernels have more of them.
  private static func netlink(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { buffer in
      var tables = PathTables()
      for message in NetlinkMessage.all(in: Bytes(buffer)) { tables.apply(RouteMessage(message)) }
    }
  }

  private static let link: [UInt8] = [
    44, 0, 0, 0, 16, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 3, 2, 0, 0, 0, 0x49, 0, 1, 0, 0, 0, 0, 0,
    9, 0, 3, 0, 101, 116, 104, 48, 0, 0, 0, 0,
  ]
}
