import DBus
import DeterministicTesting
import Streams
import SystemTesting
import Testing

/// A peer is never trusted: whatever it sends, a call ends with a value or a typed error and the program goes on.
@Suite("Malformed messages", .timeLimit(.minutes(5)))
struct MalformedTests {
  private static func call(_ peer: RawPeer, returning: Signature? = nil) async throws -> Result<[Value], any Error> {
    let client = try await Connection.open(.peer(peer.address))
    return try await within {
      do {
        return .success(
          try await client.call(
            nil, "/x", "org.edgeblue.Raw1", "M", options: .init(returning: returning, timeout: .seconds(30))))
      } catch {
        return .failure(error)
      }
    }
  }

  @Test("Well-formed bytes are accepted, so malformed ones fail for their fault alone")
  func wellFormed() async throws {
    let peer = try RawPeer { RawMessages.reply(to: $0, signature: "s", body: RawMessages.text("hello")) }
    #expect(try await Self.call(peer, returning: "s").get() == ["hello"])
    let empty = try RawPeer { RawMessages.reply(to: $0, signature: "", body: []) }
    #expect(try await Self.call(empty, returning: "").get() == [])
  }

  @Test("A reply of the wrong type is an unexpected reply, and the connection stays open")
  func wrongSignature() async throws {
    let peer = try RawPeer { RawMessages.reply(to: $0, signature: "u", body: [1, 0, 0, 0]) }
    let client = try await Connection.open(.peer(peer.address))
    for _ in 0..<3 {
      let error = try await dbusError {
        try await client.call(
          nil, "/x", "org.edgeblue.Raw1", "M", options: .init(returning: "s", timeout: .seconds(30)))
      }
      #expect(error?.code == .unexpectedReply)
    }
    #expect(client.isOpen)
  }

  @Test("Replies to calls that were never made are ignored")
  func unknownSerial() async throws {
    let peer = try RawPeer { serial in
      RawMessages.reply(to: serial &+ 1000, signature: "s", body: RawMessages.text("not yours"))
        + RawMessages.reply(to: serial, signature: "s", body: RawMessages.text("yours"))
        + RawMessages.reply(to: serial, signature: "s", body: RawMessages.text("again"))
    }
    let client = try await Connection.open(.peer(peer.address))
    for _ in 0..<3 {
      #expect(
        try await client.call(nil, "/x", "org.edgeblue.Raw1", "M", options: .init(timeout: .seconds(30))) == ["yours"])
    }
  }

  static let nonsense: [(String, @Sendable (UInt32) -> [UInt8])] = [
    ("random bytes", { _ in Array("GET / HTTP/1.1\r\nHost: edgeblue\r\n\r\n and more".utf8) }),
    ("zeroes", { _ in [UInt8](repeating: 0, count: 64) }),
    ("a boolean of 2", { RawMessages.reply(to: $0, signature: "b", body: [2, 0, 0, 0]) }),
    ("text that is not UTF-8", { RawMessages.reply(to: $0, signature: "s", body: [2, 0, 0, 0, 0xff, 0xfe, 0]) }),
    ("text without its NUL", { RawMessages.reply(to: $0, signature: "s", body: [2, 0, 0, 0, 65, 65, 65]) }),
    ("text longer than the body", { RawMessages.reply(to: $0, signature: "s", body: [255, 255, 0, 0, 65, 0]) }),
    ("a path with a dash", { RawMessages.reply(to: $0, signature: "o", body: RawMessages.text("/a-b")) }),
    ("a signature that is none", { RawMessages.reply(to: $0, signature: "a{vs}", body: [0, 0, 0, 0]) }),
    ("an array of empty structures", { RawMessages.reply(to: $0, signature: "a()", body: [8, 0, 0, 0, 0, 0, 0, 0]) }),
    ("an array of 4 GiB", { RawMessages.reply(to: $0, signature: "ay", body: [255, 255, 255, 255]) }),
    ("a body that is too long", { RawMessages.reply(to: $0, signature: "y", body: [1, 2, 3]) }),
    ("a body without signature", { RawMessages.reply(to: $0, signature: "", body: [1]) }),
    (
      "variants 100 deep",
      { serial in
        let layer: [UInt8] = [1, UInt8(ascii: "v"), 0]
        let inside: [UInt8] = [1, UInt8(ascii: "y"), 0, 5]
        let body = Array(repeatElement(layer, count: 100).joined()) + inside
        return RawMessages.reply(to: serial, signature: "v", body: body)
      }
    ),
    (
      "a length of 2 GiB",
      { serial in
        var message = RawMessages.reply(to: serial, signature: "s", body: RawMessages.text("x"))
        message[7] = 0x80
        return message
      }
    ),
    (
      "another protocol version",
      { serial in
        var message = RawMessages.reply(to: serial, signature: "s", body: RawMessages.text("x"))
        message[3] = 9
        return message
      }
    ),
  ]

  @Test("Malformed bytes end the connection with a typed error", arguments: nonsense.map(\.0))
  func refused(name: String) async throws {
    let bytes = try #require(Self.nonsense.first { $0.0 == name }?.1)
    let peer = try RawPeer { bytes($0) }
    let client = try await Connection.open(.peer(peer.address))
    let error = try await dbusError {
      try await within {
        try await client.call(nil, "/x", "org.edgeblue.Raw1", "M", options: .init(timeout: .seconds(30)))
      }
    }
    #expect(error?.code == .disconnected)
    let reason = try await within { try await client.waitUntilClosed() }
    #expect(reason.code == .disconnected)
  }

  @Test("A descriptor that was announced but not sent reads as closed")
  func missingDescriptor() async throws {
    let peer = try RawPeer { RawMessages.reply(to: $0, signature: "h", body: [0, 0, 0, 0]) }
    let reply = try await Self.call(peer, returning: "h").get()
    let descriptor = try #require(reply[0].fileDescriptor)
    #expect(descriptor.withNumber { _ in } == nil)
    #expect(descriptor.take() == nil)
  }

  @Test("A peer that disconnects in the middle of a message ends the call with an error")
  func truncated() async throws {
    let calls = Lock(0)
    let peer = try RawPeer { serial in
      let call = calls.withLock { calls in
        calls += 1
        return calls
      }
      guard call == 1 else { return nil }
      return Array(RawMessages.reply(to: serial, signature: "s", body: RawMessages.text("hello")).dropLast(3))
    }
    let client = try await Connection.open(.peer(peer.address))
    let first = Task { try await dbusError { try await client.call(nil, "/x", "org.edgeblue.Raw1", "M") } }
    try await eventually("the first call is answered in part") { calls.withLock { $0 } == 1 }
    // The second call makes the peer hang up.
    let second = try await dbusError { try await client.call(nil, "/x", "org.edgeblue.Raw1", "M") }
    #expect(second?.code == .disconnected)
    #expect(try await first.value?.code == .disconnected)
  }

  @Test("Of 600 replies with bytes changed at random, each ends its call, and none traps")
  func mutations() async throws {
    var random = SeededGenerator(seed: 20)
    var outcomes: [String: Int] = [:]
    // One long good reply with every type in it, then with up to four bytes changed.
    let body: [UInt8] =
      RawMessages.text("text") + [0, 0, 0] + RawMessages.little(3) + [1, 2, 3]
      + [1, UInt8(ascii: "u"), 0, 0, 0] + RawMessages.little(7)
    for round in 0..<600 {
      let changes = (0..<Int.random(in: 1...4, using: &random)).map { _ in
        (Int.random(in: 0..<200, using: &random), UInt8.random(in: 0...255, using: &random))
      }
      let peer = try RawPeer { serial in
        var message = RawMessages.reply(to: serial, signature: "sayv", body: body)
        for (at, byte) in changes { message[at % message.count] = byte }
        return message
      }
      let client = try await Connection.open(.peer(peer.address))
      do {
        // A changed serial or type is a reply that never comes.
        let reply = try await within {
          try await client.call(nil, "/x", "org.edgeblue.Raw1", "M", options: .init(timeout: .milliseconds(50)))
        }
        outcomes["value", default: 0] += 1
        #expect(reply.count <= 16, "round \(round)")
      } catch let error as DBusError {
        outcomes[error.code.description, default: 0] += 1
      }
    }
    // A fuzz that only ever sees one outcome tests nothing.
    #expect(outcomes["value", default: 0] > 20, "\(outcomes)")
    #expect(outcomes["disconnected", default: 0] > 100, "\(outcomes)")
  }
}
