import DBus
import DBusTesting
import Foundation
import Streams
import Testing

@Suite("Values of every type", .timeLimit(.minutes(5)))
struct ValueTests {
  /// Every type, its edges, and containers empty and full.
  static let samples: [Value] = [
    .byte(0), .byte(255), .bool(true), .bool(false),
    .int16(.min), .int16(.max), .uint16(.max), .int32(.min), .int32(.max), .uint32(.max),
    .int64(.min), .int64(.max), .uint64(.max),
    .double(-0.0), .double(.pi), .double(.infinity), .double(.leastNonzeroMagnitude),
    .string(""), .string("plain"), .string("Grüße, 世界 🌍\n\t\"'"), .string(String(repeating: "x", count: 100_000)),
    .objectPath("/"), .objectPath("/org/bluez/hci0/dev_00_11_22_33_44_55"),
    .signature(""), .signature("a{oa{sa{sv}}}(yv)ay"),
    .bytes([]), .bytes([0, 1, 255]), .bytes(Array(repeating: 7, count: 70_000)),
    .properties([:]),
    .properties([
      "byte": .byte(1), "text": "x", "list": .strings(["a", ""]), "nested": .properties(["deep": .bytes([9])]),
      "variant": .variant(.variant(.int32(-5))),
    ]),
    .strings([]), .strings(["one", "two"]), .objectPaths(["/a", "/b/c"]),
    .array(of: "b", [.bool(true), .bool(false)]), .array(of: "u", []), .array(of: "d", [.double(1.5)]),
    .array(of: "v", [.variant(.byte(1)), .variant("two"), .variant(.structure([.bool(true)]))]),
    .array(of: "ay", [.bytes([1, 2]), .bytes([])]),
    .array(of: "aas", [.array(of: "as", [.strings(["x"]), .strings([])])]),
    .array(of: "(sq)", [.structure(["x", .uint16(1)])]),
    .array(of: "a{sv}", [.properties([:]), .properties(["k": "v"])]),
    .dictionary(of: "qv", []),
    .dictionary(of: "qv", [.init(.uint16(0x4c), .variant(.bytes([2, 21])))]),
    .dictionary(
      of: "oa{sa{sv}}",
      [
        .init(.objectPath("/a"), .dictionary(of: "sa{sv}", [.init("org.x.Y1", .properties(["P": .int16(-60)]))]))
      ]),
    .dictionary(of: "ya(s)", [.init(.byte(3), .array(of: "(s)", []))]),
    .structure([.byte(1)]), .structure(["s", .structure([.uint64(8), .structure([.bytes([])])]), .variant("v")]),
    .variant("inside"), .variant(.structure([.strings([])])),
  ]

  @Test("Every value survives the way from our client to our object and back")
  func ownRoundTrip() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let client = try await bus.connect()
    for (index, value) in Self.samples.enumerated() {
      let path = try ObjectPath("/value/n\(index)")
      let type = value.signature
      let object = try server.connection.export(
        path,
        [
          Interface(
            "org.edgeblue.Echo1",
            methods: [
              .init("Echo", in: [.init("value", type)], out: [.init("value", type)]) { $0.arguments }
            ])
        ])
      let back = try await client.call(server.name, path, "org.edgeblue.Echo1", "Echo", [value], returning: type)
      #expect(back == [value])
      object.remove()
    }
  }

  @Test("Every value survives the way to dbus-fast and back", .enabled(if: PythonPeer.isInstalled, "no .venv-peers"))
  func pythonRoundTrip() async throws {
    let bus = try PrivateBus()
    let peer = try await PythonPeer(bus)
    let client = try await bus.connect()
    for value in Self.samples {
      let back = try await client.call(
        PythonPeer.name, "/peer", PythonPeer.interface, "Echo", [value], returning: value.signature)
      #expect(back == [value])
    }
    let all = Self.samples.prefix(20)
    let signature = try Signature(all.map(\.signature.description).joined())
    let together = try await client.call(
      PythonPeer.name, "/peer", PythonPeer.interface, "Echo", Array(all), returning: signature)
    #expect(together == Array(all))
    withExtendedLifetime(peer) {}
  }

  @Test(
    "The values that dbus-fast decodes are those that were sent", .enabled(if: PythonPeer.isInstalled, "no .venv-peers")
  )
  func pythonUnderstands() async throws {
    let bus = try PrivateBus()
    let peer = try await PythonPeer(bus)
    let client = try await bus.connect()
    let meanings: [(Value, String)] = [
      (.byte(7), "['y', [7]]"),
      (.bool(true), "['b', [True]]"),
      (.int16(-2), "['n', [-2]]"),
      (.uint64(.max), "['t', [18446744073709551615]]"),
      (.double(0.25), "['d', [0.25]]"),
      ("ünï", "['s', ['ünï']]"),
      (.objectPath("/a/b"), "['o', ['/a/b']]"),
      (.signature("a{sv}"), "['g', ['a{sv}']]"),
      (.bytes([1, 0, 255]), "['ay', [b'\\x01\\x00\\xff']]"),
      (.properties(["a": .uint16(5), "b": .strings(["x"])]), "['a{sv}', [{'a': ('q', 5), 'b': ('as', ['x'])}]]"),
      (.structure(["s", .int32(-1)]), "['(si)', [['s', -1]]]"),
      (.variant(.variant(.byte(1))), "['v', [('v', ('y', 1))]]"),
      (.dictionary(of: "qv", [.init(.uint16(76), .variant(.bytes([2])))]), "['a{qv}', [{76: ('ay', b'\\x02')}]]"),
    ]
    for (value, meaning) in meanings {
      let reply = try await client.call(
        PythonPeer.name, "/peer", PythonPeer.interface, "Describe", [value], returning: "s")
      #expect(reply == [.string(meaning)])
    }
    withExtendedLifetime(peer) {}
  }

  @Test("Values of busctl arrive, and busctl prints ours", .enabled(if: Tool.isInstalled("busctl"), "no busctl"))
  func busctlBothWays() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let types: Signature = "ybnqiuxtdsogayasa{sv}(iu)v"
    let seen = Lock<[Value]>([])
    let object = try server.connection.export(
      "/all",
      [
        Interface(
          "org.edgeblue.Echo1",
          methods: [
            .init("Echo", in: [.init("all", types)], out: [.init("all", types)]) { call in
              seen.withLock { $0 = call.arguments }
              return call.arguments
            }
          ])
      ])
    let result = try await bus.busctl(
      "call", server.name, "/all", "org.edgeblue.Echo1", "Echo", types.description,
      "7", "true", "-2", "3", "-4", "5", "-6", "8", "1.5", "text", "/a/b", "as", "3", "1", "2", "255", "2", "x", "y",
      "1", "Key", "u", "9", "-1", "10", "s", "in a variant")
    #expect(result.error == "")
    #expect(
      result.output
        == #"ybnqiuxtdsogayasa{sv}(iu)v 7 true -2 3 -4 5 -6 8 1.5 "text" "/a/b" "as" 3 1 2 255 2 "x" "y" 1 "Key" u 9 -1 10 s "in a variant""#
    )
    #expect(
      seen.withLock { $0 } == [
        .byte(7), .bool(true), .int16(-2), .uint16(3), .int32(-4), .uint32(5), .int64(-6), .uint64(8), .double(1.5),
        "text", .objectPath("/a/b"), .signature("as"), .bytes([1, 2, 255]), .strings(["x", "y"]),
        .properties(["Key": .uint32(9)]), .structure([.int32(-1), .uint32(10)]), .variant("in a variant"),
      ])
    withExtendedLifetime(object) {}
  }

  @Test(
    "Values that D-Bus cannot carry are refused before they are sent",
    arguments: [
      Value.string("a\0b"), .structure([]), .array(of: "s", [.int32(1)]), .array(of: "", []), .array(of: "su", []),
      .dictionary(of: "sv", [.init("k", "not a variant")]), .dictionary(of: "vs", []), .dictionary(of: "s", []),
      .properties(["k\0": "v"]), .variant(.structure([])),
    ])
  func refused(value: Value) async throws {
    let bus = try PrivateBus()
    let client = try await bus.connect()
    let error = try await dbusError { try await client.call("org.x.Y", "/", "org.x.Y", "M", [value]) }
    #expect(error?.code == .invalidArgument)
    #expect(client.isOpen)
    // The connection is none the worse for it.
    #expect(try await client.owner(of: "org.freedesktop.DBus") == "org.freedesktop.DBus")
  }

  @Test("Values nested beyond the specification's limit are refused")
  func depth() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let object = try server.connection.export(
      "/deep",
      [
        Interface(
          "org.edgeblue.Echo1",
          methods: [
            .init("Echo", in: [.init("value", "v")], out: [.init("value", "v")]) { $0.arguments }
          ])
      ])
    let client = try await bus.connect()
    func nested(_ depth: Int) -> Value { (0..<depth).reduce(Value.byte(1)) { inner, _ in .variant(inner) } }
    let deep = nested(60)
    #expect(try await client.call(server.name, "/deep", "org.edgeblue.Echo1", "Echo", [deep]) == [deep])
    await #expect(throws: DBusError.self) {
      try await client.call(server.name, "/deep", "org.edgeblue.Echo1", "Echo", [nested(80)])
    }
    #expect(client.isOpen)
    withExtendedLifetime(object) {}
  }

  @Test(
    "Malformed bus, interface and member names are refused",
    arguments: [
      ("no dots", "/", "org.x.Y", "M"), ("org.x", "/", "nodots", "M"), ("org.x", "/", "org.x.Y", "has space"),
      ("org.x", "/", "org.x.Y", ""), ("org.x\0", "/", "org.x.Y", "M"), ("", "/", "org.x.Y", "M"),
    ])
  func names(destination: String, path: String, interface: String, member: String) async throws {
    let bus = try PrivateBus()
    let client = try await bus.connect()
    let error = try await dbusError { try await client.call(destination, ObjectPath(path), interface, member) }
    #expect(error?.code == .invalidArgument)
  }

  @Test(
    "Malformed object paths and signatures are refused",
    arguments: ["", "a", "/a/", "//", "/a//b", "/a-b", "/ä", "/a\0"])
  func paths(text: String) {
    #expect(throws: DBusError.self) { try ObjectPath(text) }
  }

  @Test(
    "Malformed signatures of values are refused", arguments: ["a", "()", "{sv}", "a{vs}", "(s", "z", "a{s}", "s\0"])
  func signatures(text: String) {
    #expect(throws: DBusError.self) { try Signature(text) }
  }

  @Test("The parent of an object path is the path without its last element")
  func ancestry() throws {
    #expect(ObjectPath("/a/bc").isWithin("/a"))
    #expect(ObjectPath("/a").isWithin("/a"))
    #expect(ObjectPath("/a").isWithin("/"))
    #expect(!ObjectPath("/ab").isWithin("/a"))
    #expect(!ObjectPath("/a").isWithin("/a/b"))
    #expect(try ObjectPath.root.appending("x") == "/x")
    #expect(ObjectPath("/a/bc").lastElement == "bc")
  }
}
