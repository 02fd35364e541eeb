import DBus
import DBusTesting
import Streams
import SystemState
import SystemTesting
import Testing

@Suite(
  "Desktop notifications at a fake desktop",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"), .timeLimit(.minutes(5)))
struct DesktopNotificationTests {
  private static let name = "org.freedesktop.Notifications"
  private static let arguments: [Interface.Argument] = [
    .init("app_name", "s"), .init("replaces_id", "u"), .init("app_icon", "s"), .init("summary", "s"),
    .init("body", "s"), .init("actions", "as"), .init("hints", "a{sv}"), .init("expire_timeout", "i"),
  ]

  private func desktop(
    on bus: PrivateBus, _ capabilities: [String], _ shown: Lock<[[Value]]>
  ) async throws -> (Connection, ExportedObject) {
    let connection = try await bus.connect()
    let methods: [Interface.Method] = [
      .init("GetCapabilities", out: [.init("capabilities", "as")]) { _ in
        [.array(of: "s", capabilities.map(Value.string))]
      },
      .init("Notify", in: Self.arguments, out: [.init("id", "u")]) { call in
        shown.withLock { $0.append(call.arguments) }
        return [.uint32(7)]
      },
    ]
    let object = try connection.export("/org/freedesktop/Notifications", [Interface(Self.name, methods: methods)])
    _ = try await connection.requestName(Self.name)
    return (connection, object)
  }

  @Test(
    "Plain text is escaped for desktops with markup",
    arguments: [(["body", "body-markup"], "a &lt; b &amp;&amp; c"), (["body"], "a < b && c")])
  func itShowsPlainText(capabilities: [String], body: String) async throws {
    let bus = try PrivateBus()
    let shown = Lock([[Value]]())
    let desktop = try await desktop(on: bus, capabilities, shown)
    let message = DesktopNotification(from: "EdgeBlue", "The network is back", body: "a < b && c", urgency: .critical)
    #expect(try await message.show(on: .address(bus.address)) == 7)
    #expect(
      shown.withLock { $0 } == [
        [
          "EdgeBlue", .uint32(0), "", "The network is back", .string(body), .array(of: "s", []),
          .properties(["urgency": .byte(2)]), .int32(-1),
        ]
      ])
    withExtendedLifetime(desktop) {}
  }

  @Test("Without a desktop showing a notification fails") func withoutADesktopThatIsAnError() async throws {
    let bus = try PrivateBus()
    await #expect(throws: DBusError.self) {
      try await DesktopNotification(from: "EdgeBlue", "Nobody").show(on: .address(bus.address))
    }
  }
}
