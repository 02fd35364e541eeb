import DBus
import DBusTesting
import Foundation
import Streams
import SystemTesting
import Testing

@Suite("Exported objects", .timeLimit(.minutes(5)))
struct ObjectTests {
  /// An object like those BlueZ wants of us: methods, properties, a signal.
  final class Lamp: Sendable {
    static let interface = "org.edgeblue.Lamp1"
    let brightness = Lock<UInt16>(10)
    let label = Lock<String?>(nil)

    var interfaces: [Interface] {
      [
        Interface(
          Self.interface,
          methods: [
            .init("Blink", in: [.init("times", "u"), .init("options", "a{sv}")], out: [.init("done", "b")]) { _ in
              [true]
            },
            .init("Off") { _ in [] },
          ],
          properties: [
            .init("Brightness", "q", get: { [brightness] in .uint16(brightness.withLock { $0 }) }) { [brightness] new in
              guard let value: UInt16 = new.integer(), value <= 100 else {
                throw DBusError(name: "org.edgeblue.Error.TooBright", message: "0 to 100")
              }
              brightness.withLock { $0 = value }
            },
            .init("Label", "s", get: { [label] in label.withLock { $0 }.map(Value.string) }),
            .init("Kind", .strings(["led", "red"])),
          ],
          signals: [.init("Flickered", [.init("count", "u"), .init("why", "s")])])
      ]
    }
  }

  @Test(
    "The introspection data that gdbus reads is exactly the declared interfaces",
    .enabled(if: Tool.isInstalled("gdbus"), "no gdbus"))
  func introspection() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let object = try server.connection.export("/lamps/one", Lamp().interfaces)
    let child = try server.connection.export("/lamps/one/bulb", [])
    let result = try await bus.gdbus("introspect", "--dest", server.name, "--object-path", "/lamps/one", "--xml")
    #expect(result.status == 0)
    #expect(result.error == "")
    let contract = try Contract(xml: result.output)
    #expect(
      contract.interfaces[Lamp.interface] == [
        "method Blink (times:u, options:a{sv}) -> (done:b)",
        "method Off () -> ()",
        "property Brightness q readwrite",
        "property Kind as read",
        "property Label s read",
        "signal Flickered (count:u, why:s)",
      ])
    #expect(
      Set(contract.interfaces.keys) == [
        Lamp.interface, "org.freedesktop.DBus.Introspectable", "org.freedesktop.DBus.Properties",
      ])
    #expect(contract.children == ["bulb"])
    withExtendedLifetime((object, child)) {}
  }

  @Test("The standard interfaces are those of the folder dbus", .enabled(if: Tool.isInstalled("gdbus"), "no gdbus"))
  func standardInterfaces() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let object = try server.connection.export("/manager", objectManager: true)
    let result = try await bus.gdbus("introspect", "--dest", server.name, "--object-path", "/manager", "--xml")
    let ours = try Contract(xml: result.output)
    for name in ["ObjectManager", "Properties", "Introspectable"].map({ "org.freedesktop.DBus.\($0)" }) {
      let declared = try Contract(file: "\(name).xml")
      #expect(ours.interfaces[name] != nil, "\(name)")
      #expect(ours.interfaces[name] == declared.interfaces[name], "\(name)")
    }
    withExtendedLifetime(object) {}
  }

  @Test("Introspection leads from the root to each object", .enabled(if: Tool.isInstalled("busctl"), "no busctl"))
  func tree() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let objects = try ["/a/b/c", "/a/bb", "/z"].map { try server.connection.export(ObjectPath($0), Lamp().interfaces) }
    let result = try await Tool.run("busctl", ["--address=\(bus.address)", "--list", "tree", server.name])
    #expect(Set(result.output.split(separator: "\n").map(String.init)).isSuperset(of: ["/a/b/c", "/a/bb", "/z"]))
    withExtendedLifetime(objects) {}
  }

  @Test(
    "The programs busctl and gdbus read and write properties and call methods",
    .enabled(if: Tool.isInstalled("busctl") && Tool.isInstalled("gdbus"), "no busctl or gdbus"))
  func fromOutside() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let lamp = Lamp()
    let object = try server.connection.export("/lamp", lamp.interfaces)
    func busctl(_ command: String, _ arguments: String...) async throws -> String {
      let result = try await Tool.run(
        "busctl", ["--address=\(bus.address)", "--", command, server.name, "/lamp", Lamp.interface] + arguments)
      return result.output + result.error
    }
    #expect(try await busctl("get-property", "Brightness") == "q 10")
    #expect(try await busctl("get-property", "Kind") == #"as 2 "led" "red""#)
    #expect(try await busctl("set-property", "Brightness", "q", "77") == "")
    #expect(lamp.brightness.withLock { $0 } == 77)
    #expect(try await busctl("set-property", "Brightness", "q", "101").contains("0 to 100"))
    #expect(try await busctl("set-property", "Brightness", "s", "x").contains("'q'"))
    #expect(try await busctl("set-property", "Kind", "as", "0").contains("read-only"))
    #expect(try await busctl("get-property", "Label").contains("no property Label"))
    #expect(try await busctl("get-property", "Nothing").contains("no property Nothing"))
    #expect(lamp.brightness.withLock { $0 } == 77)
    let called = try await bus.gdbus(
      "call", "--dest", server.name, "--object-path", "/lamp", "--method", "\(Lamp.interface).Blink", "uint32 2",
      "{'speed': <uint16 3>}")
    #expect(called.output == "(true,)")
    let all = try await bus.gdbus(
      "call", "--dest", server.name, "--object-path", "/lamp", "--method", "org.freedesktop.DBus.Properties.GetAll",
      Lamp.interface)
    #expect(all.output.contains("'Brightness': <uint16 77>"))
    #expect(all.output.contains("'Kind': <['led', 'red']>"))
    #expect(!all.output.contains("Label"), "a property without a value is not there")
    let ping = try await bus.gdbus(
      "call", "--dest", server.name, "--object-path", "/lamp", "--method", "org.freedesktop.DBus.Peer.Ping")
    #expect(ping.output == "()")
    withExtendedLifetime(object) {}
  }

  @Test("Our client reads and writes properties, and receives PropertiesChanged")
  func properties() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let lamp = Lamp()
    let object = try server.connection.export("/lamp", lamp.interfaces)
    let remote = RemoteObject(try await bus.connect(), server.name, "/lamp")
    #expect(try await remote.getAll(Lamp.interface) == ["Brightness": .uint16(10), "Kind": .strings(["led", "red"])])
    let changes = try await remote.connection.signals(MatchRule(sender: server.name, path: "/lamp"))
    try await remote.set(Lamp.interface, "Brightness", .uint16(20))
    #expect(try await remote.get(Lamp.interface, "Brightness") == .uint16(20))
    let refused = try await dbusError { try await remote.set(Lamp.interface, "Brightness", .uint16(200)) }
    #expect(refused?.name == "org.edgeblue.Error.TooBright")
    try object.emitPropertiesChanged(Lamp.interface, ["Brightness": .uint16(20)], invalidated: ["Label"])
    let change = try await within {
      for await signal in changes { return signal.propertiesChanged.map { ($0.interface, $0.changed, $0.invalidated) } }
      return nil
    }
    #expect(change?.0 == Lamp.interface)
    #expect(change?.1 == ["Brightness": .uint16(20)])
    #expect(change?.2 == ["Label"])
  }

  @Test("An object manager lists the objects below it, and signals added and removed ones")
  func objectManager() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let client = try await bus.connect()
    let manager = try server.connection.export("/app", objectManager: true)
    let outside = try server.connection.export("/apple", Lamp().interfaces)
    let signals = Lock<[String]>([])
    let subscription = try await client.observe(
      MatchRule(sender: server.name, path: "/app", interface: "org.freedesktop.DBus.ObjectManager")
    ) { signal in
      let path = signal.arguments[0].objectPath?.description ?? "?"
      let what = signal.arguments[1].strings ?? signal.arguments[1].interfaces.keys.sorted()
      signals.withLock { $0.append("\(signal.member) \(path) \(what)") }
    }
    let first = try server.connection.export("/app/one", Lamp().interfaces)
    let second = try server.connection.export("/app/one/deep", Lamp().interfaces)
    let remote = RemoteObject(client, server.name, "/app")
    let objects = try await remote.managedObjects()
    #expect(Set(objects.keys) == ["/app/one", "/app/one/deep"])
    #expect(objects["/app/one"]?[Lamp.interface]?["Brightness"] == .uint16(10))
    second.remove()
    #expect(Set(try await remote.managedObjects().keys) == ["/app/one"])
    #expect(
      signals.withLock { $0 } == [
        "InterfacesAdded /app/one [\"\(Lamp.interface)\"]", "InterfacesAdded /app/one/deep [\"\(Lamp.interface)\"]",
        "InterfacesRemoved /app/one/deep [\"\(Lamp.interface)\"]",
      ])
    let none = try await dbusError { try await RemoteObject(client, server.name, "/apple").managedObjects() }
    #expect(none?.name == "org.freedesktop.DBus.Error.UnknownMethod")
    withExtendedLifetime((manager, outside, first, subscription)) {}
  }

  @Test("A removed object replies to every call that waits for it")
  func removal() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let entered = Lock(false)
    let object = try server.connection.export(
      "/going",
      [
        Interface(
          "org.edgeblue.Going1",
          methods: [
            .init("Wait") { _ in
              entered.withLock { $0 = true }
              try await Task.sleep(for: .seconds(3600))
              return []
            }
          ])
      ])
    let client = try await bus.connect()
    let calls = (0..<5).map { _ in
      Task { try await dbusError { try await client.call(server.name, "/going", "org.edgeblue.Going1", "Wait") } }
    }
    try await eventually("the first call is served") { entered.withLock { $0 } }
    try await SignalTests.settle(client, server.connection)
    object.remove()
    let errors = try await within(.seconds(60), "the refusals") {
      var errors: [String?] = []
      for call in calls { errors.append(try await call.value?.name) }
      return errors
    }
    // Those that waited, and the one that was being served.
    #expect(errors.allSatisfy { $0 == "org.freedesktop.DBus.Error.UnknownObject" }, "\(errors)")
    // The path is free again.
    let again = try server.connection.export("/going", Lamp().interfaces)
    #expect(try await RemoteObject(client, server.name, "/going").get(Lamp.interface, "Brightness") == .uint16(10))
    withExtendedLifetime(again) {}
  }

  @Test("An object is removed with its last reference, and a path holds one object")
  func lifetime() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let client = try await bus.connect()
    var object: ExportedObject? = try server.connection.export("/once", Lamp().interfaces)
    #expect(throws: DBusError.self) { try server.connection.export("/once") }
    #expect(throws: DBusError.self) { try server.connection.export("/bad", [Interface("nodots")]) }
    #expect(object?.path == "/once")
    object = nil
    let gone = try await dbusError { try await RemoteObject(client, server.name, "/once").getAll(Lamp.interface) }
    #expect(gone?.name == "org.freedesktop.DBus.Error.UnknownObject")
  }

  @Test("Calls to one slow object are refused beyond the limit, and are not queued without bound")
  func flood() async throws {
    // The bus has a limit of its own, which must not be the one that is tested here.
    let bus = try PrivateBus(limits: ["max_replies_per_connection": 5000])
    let server = try await NamedPeer(bus)
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let object = try server.connection.export(
      "/slow",
      [
        Interface(
          "org.edgeblue.Slow1",
          methods: [
            .init("Wait") { _ in
              for await _ in gate { break }
              return []
            }
          ])
      ])
    let client = try await bus.connect()
    let count = ExportedObject.mailboxLimit + 200
    let refused = try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<count {
        group.addTask {
          try await dbusError { try await client.call(server.name, "/slow", "org.edgeblue.Slow1", "Wait") }?.name
            == "org.freedesktop.DBus.Error.LimitsExceeded"
        }
      }
      var refused = 0
      // One runs and the mailbox is full, so at least 199 are refused; then all the others may go.
      while refused < 199, let answer = try await group.next() { refused += answer ? 1 : 0 }
      open.finish()
      for try await answer in group { refused += answer ? 1 : 0 }
      return refused
    }
    #expect((199...200).contains(refused))
    withExtendedLifetime(object) {}
  }
}
