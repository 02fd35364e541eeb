import DBus
import Testing

@testable import BlueZ

/// The signals in the order in which bluetoothd 5.84 sends them.
@Suite("Links over LE and over Classic in the cache") struct ObjectCacheBearerTests {
  private static let path: ObjectPath = "/org/bluez/hci0/dev_00_AA_01_00_00_42"
  private static let classic = "org.bluez.Bearer.BREDR1"
  private static let lowEnergy = "org.bluez.Bearer.LE1"
  private var cache = ObjectCache()

  init() {
    let interfaces = [Device.interface, Self.lowEnergy, Self.classic].map { name in
      Value.Entry(.string(name), .properties(["Connected": false]))
    }
    _ = cache.apply(
      Signal(
        sender: ":1.1", path: "/", interface: "org.freedesktop.DBus.ObjectManager", member: "InterfacesAdded",
        arguments: [.objectPath(Self.path), .dictionary(of: "sa{sv}", interfaces)]))
  }

  private mutating func change(_ interface: String, _ isConnected: Bool) -> Bool? {
    told(
      Signal(
        sender: ":1.1", path: Self.path, interface: "org.freedesktop.DBus.Properties", member: "PropertiesChanged",
        arguments: [.string(interface), .properties(["Connected": .bool(isConnected)]), .strings([])]))
  }

  private mutating func disconnected(_ interface: String, _ reason: String) -> Bool? {
    told(
      Signal(
        sender: ":1.1", path: Self.path, interface: interface, member: "Disconnected",
        arguments: [.string("org.bluez.Reason." + reason), ""]))
  }

  /// The change of the device's connection that a signal causes, if any.
  private mutating func told(_ signal: Signal) -> Bool? {
    guard case .changed(Self.path, Device.interface, let changed, _) = cache.apply(signal) else { return nil }
    return changed["Connected"]?.bool
  }

  private var isConnected: Bool? { cache.properties(Self.path, Device.interface)?["Connected"]?.bool }

  @Test("A link over Classic alone is none") mutating func classicAlone() {
    #expect(change(Self.classic, true) == nil)
    #expect(change(Device.interface, true) == nil)
    #expect(isConnected == false)
    #expect(change(Self.classic, false) == nil)
    #expect(disconnected(Device.interface, "Remote") == nil)
    #expect(change(Device.interface, false) == nil)
    #expect(isConnected == false)
  }

  @Test("A link over LE begins once and ends once, with its reason") mutating func lowEnergyAlone() {
    #expect(change(Self.lowEnergy, true) == true)
    #expect(change(Device.interface, true) == nil)
    #expect(isConnected == true)
    // The reason comes behind the property.
    #expect(change(Self.lowEnergy, false) == nil)
    #expect(disconnected(Self.lowEnergy, "Timeout") == false)
    #expect(disconnected(Device.interface, "Unknown") == nil)
    #expect(change(Device.interface, false) == nil)
    #expect(cache.disconnectReasons[Self.path] == .timeout)
  }

  @Test("The device's own property may come first") mutating func deviceFirst() {
    #expect(change(Device.interface, true) == nil)
    #expect(change(Self.lowEnergy, true) == true)
    #expect(disconnected(Device.interface, "Local") == nil)
    #expect(change(Device.interface, false) == false)
    #expect(cache.disconnectReasons[Self.path] == .local)
    #expect(change(Self.lowEnergy, false) == nil)
    #expect(disconnected(Self.lowEnergy, "Local") == nil)
  }

  @Test("A link over LE ends while one over Classic stays") mutating func classicStays() {
    _ = change(Self.classic, true)
    _ = change(Device.interface, true)
    #expect(cache.interfaceToDisconnect(Self.path) == Self.lowEnergy)
    #expect(change(Self.lowEnergy, true) == true)
    #expect(change(Self.lowEnergy, false) == nil)
    #expect(disconnected(Self.lowEnergy, "Local") == false)
    #expect(isConnected == false)
    _ = change(Self.classic, false)
    #expect(cache.interfaceToDisconnect(Self.path) == Device.interface)
  }

  @Test("What is read again is narrowed to LE, too") mutating func readAgain() {
    #expect(cache.refresh(Self.path, Device.interface, ["Connected": true]) == nil)
    #expect(isConnected == false)
    guard
      case .changed(_, Device.interface, let changed, _) =
        cache.refresh(Self.path, Self.lowEnergy, ["Connected": true])
    else {
      Issue.record("not noticed")
      return
    }
    #expect(changed == ["Connected": true])
    #expect(isConnected == true)
  }

  @Test("A device that is known from the start is narrowed to LE") mutating func fromTheStart() {
    cache.replaceAll([
      Self.path: [Device.interface: ["Connected": true], Self.lowEnergy: ["Connected": false]]
    ])
    #expect(isConnected == false)
  }
}
