import DBus
import Testing

@testable import BlueZ

@Suite("The cache of bluetoothd's objects") struct ObjectCacheTests {
  private func signal(_ path: ObjectPath, _ member: String, _ arguments: [Value]) -> Signal {
    let interface =
      member == "PropertiesChanged" ? "org.freedesktop.DBus.Properties" : "org.freedesktop.DBus.ObjectManager"
    return Signal(sender: ":1.1", path: path, interface: interface, member: member, arguments: arguments)
  }

  private func added(_ path: ObjectPath, _ interface: String, _ properties: [String: Value]) -> Signal {
    signal(
      "/", "InterfacesAdded",
      [.objectPath(path), .dictionary(of: "sa{sv}", [.init(.string(interface), .properties(properties))])])
  }

  private func changed(_ path: ObjectPath, _ properties: [String: Value], _ gone: [String] = []) -> Signal {
    signal(path, "PropertiesChanged", [.string(Device.interface), .properties(properties), .strings(gone)])
  }

  @Test("An object is added, changed and removed") func anObjectComesChangesAndGoes() {
    var cache = ObjectCache()
    let path: ObjectPath = "/org/bluez/hci0/dev_00_AA_01_00_00_42"
    guard case .added(path, [Device.interface]) = cache.apply(added(path, Device.interface, ["Connected": false]))
    else {
      Issue.record("not added")
      return
    }
    #expect(cache.paths(with: Device.interface, below: "/org/bluez/hci0") == [path])
    #expect(cache.paths(with: Device.interface, below: "/org/bluez/hci").isEmpty)

    _ = cache.apply(changed(path, ["Connected": true, "RSSI": .int16(-40)]))
    #expect(cache.properties(path, Device.interface)?["Connected"] == true)
    _ = cache.apply(changed(path, [:], ["RSSI"]))
    #expect(cache.properties(path, Device.interface)?["RSSI"] == nil)

    _ = cache.apply(signal("/", "InterfacesRemoved", [.objectPath(path), .strings([Device.interface])]))
    #expect(cache.objects.isEmpty)
  }

  /// From 5.83 on bluetoothd signals the reason just before the change.
  @Test(
    "The disconnect reason is kept until the next connection",
    arguments: [
      ("org.bluez.Reason.Timeout", DisconnectReason.timeout), ("org.bluez.Reason.Remote", .remote),
      ("org.bluez.Reason.OfLaterDays", .unknown),
    ])
  func whyALinkEndedIsKeptUntilTheNextOne(_ name: String, _ reason: DisconnectReason) {
    var cache = ObjectCache()
    let path: ObjectPath = "/org/bluez/hci0/dev_00_AA_01_00_00_42"
    let told = Signal(
      sender: ":1.1", path: path, interface: Device.interface, member: "Disconnected",
      arguments: [.string(name), "in words"])
    #expect(cache.apply(told) == nil)
    #expect(cache.disconnectReasons.isEmpty)
    _ = cache.apply(added(path, Device.interface, ["Connected": true]))
    _ = cache.apply(told)
    _ = cache.apply(changed(path, ["Connected": false]))
    #expect(cache.disconnectReasons == [path: reason])
    _ = cache.apply(changed(path, ["Connected": true]))
    #expect(cache.disconnectReasons.isEmpty)
    _ = cache.apply(told)
    _ = cache.apply(signal("/", "InterfacesRemoved", [.objectPath(path), .strings([Device.interface])]))
    #expect(cache.disconnectReasons.isEmpty)
  }

  @Test("A change of an unknown object is ignored") func aChangeOfAnUnknownObjectIsNotTakenForOne() {
    var cache = ObjectCache()
    let change = cache.apply(changed("/org/bluez/hci0/dev_1", ["Connected": true]))
    #expect(change == nil)
    #expect(cache.objects.isEmpty)
  }

  @Test(
    "Malformed signals change nothing",
    arguments: [
      ("InterfacesAdded", [Value.string("/not/a/path")]), ("InterfacesRemoved", []),
      ("PropertiesChanged", [.string("x"), .string("y"), .strings([])]), ("Other", []),
    ])
  func malformedSignalsChangeNothing(_ member: String, _ arguments: [Value]) {
    var cache = ObjectCache()
    _ = cache.apply(added("/a", Device.interface, ["Name": "n"]))
    let change = cache.apply(signal("/a", member, arguments))
    #expect(change == nil)
    #expect(cache.properties("/a", Device.interface) == ["Name": "n"])
  }

  @Test("A refresh reports only changed properties") func aRefreshTellsOnlyWhatChanged() {
    var cache = ObjectCache()
    _ = cache.apply(added("/a", Device.interface, ["Connected": false, "Name": "n"]))
    let first = cache.refresh("/a", Device.interface, ["Connected": true, "Name": "n"])
    guard case .changed("/a", Device.interface, let changed, []) = first else {
      Issue.record("nothing changed")
      return
    }
    #expect(changed == ["Connected": true])
    let second = cache.refresh("/a", Device.interface, ["Connected": true])
    #expect(second == nil)
    let unknown = cache.refresh("/b", Device.interface, ["Connected": true])
    #expect(unknown == nil)
  }

  @Test("Advertised services are kept when the services are read")
  func servicesThatWereHeardOutliveTheReadingOfServices() {
    var cache = ObjectCache()
    let path: ObjectPath = "/org/bluez/hci0/dev_00_AA_01_00_00_42"
    _ = cache.apply(added(path, Device.interface, ["Connected": false, "UUIDs": .strings(["180f"])]))
    _ = cache.apply(changed(path, ["UUIDs": .strings(["180f", "180a"])]))
    #expect(cache.advertisedServices[path] == ["180f", "180a"])
    // Services that were read during a connection were not advertised, and its end empties bluetoothd's list.
    _ = cache.apply(changed(path, ["Connected": true]))
    _ = cache.apply(changed(path, ["UUIDs": .strings(["1812"])]))
    _ = cache.apply(changed(path, ["Connected": false]))
    _ = cache.apply(changed(path, ["UUIDs": .strings([])]))
    #expect(cache.advertisedServices[path] == ["180f", "180a"])
    _ = cache.apply(signal("/", "InterfacesRemoved", [.objectPath(path), .strings([Device.interface])]))
    #expect(cache.advertisedServices[path].isEmpty)
  }
}
