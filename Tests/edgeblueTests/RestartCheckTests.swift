import DBus
import DBusTesting
import SystemTesting
import Testing

@testable import edgeblue

@Suite(
  "The check of doctor for restarts by systemd",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"))
struct RestartCheckTests {
  private static let systemd = "org.freedesktop.systemd1"

  private func findings(restart: String, loadState: String = "loaded") async throws -> [Finding] {
    let bus = try PrivateBus()
    let daemon = try await bus.connect()
    let unit: ObjectPath = "/org/freedesktop/systemd1/unit/bluetooth_2eservice"
    let load = Interface.Method("LoadUnit", in: [.init("name", "s")], out: [.init("unit", "o")]) { call in
      #expect(call.arguments == [.string("bluetooth.service")])
      return [.objectPath(unit)]
    }
    let objects = [
      try daemon.export("/org/freedesktop/systemd1", [Interface("\(Self.systemd).Manager", methods: [load])]),
      try daemon.export(
        unit,
        [
          Interface("\(Self.systemd).Unit", properties: [.init("LoadState", .string(loadState))]),
          Interface("\(Self.systemd).Service", properties: [.init("Restart", .string(restart))]),
        ]),
    ]
    _ = try await daemon.requestName(Self.systemd)
    let connection = try await bus.connect()
    defer {
      connection.close()
      daemon.close()
    }
    let found = await RestartCheck.findings(on: connection)
    return withExtendedLifetime(objects) { found }
  }

  @Test(
    "A unit that does not restart bluetoothd after a crash causes a warning",
    arguments: [
      ("no", Finding.Level.warn), ("on-success", .warn), ("on-watchdog", .warn), ("on-failure", .ok), ("on-abort", .ok),
      ("on-abnormal", .ok), ("always", .ok),
    ])
  func whetherBluetoothdComesBackAfterACrash(restart: String, level: Finding.Level) async throws {
    let found = try await findings(restart: restart)
    #expect(found.map(\.level) == [level])
    #expect(found.first?.message.contains("Restart=\(restart)") == true)
    #expect(found.first?.fix?.contains("systemctl edit bluetooth") == (level == .warn ? true : nil))
  }

  @Test("Without systemd or the unit, there is no finding") func withoutTheUnitOrSystemdThereIsNothingToSay()
    async throws
  {
    #expect(try await findings(restart: "no", loadState: "not-found") == [])
    let bus = try PrivateBus()
    let connection = try await bus.connect()
    defer { connection.close() }
    #expect(await RestartCheck.findings(on: connection) == [])
  }
}
