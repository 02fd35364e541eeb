import DBus
import DBusTesting
import Foundation
import Streams
import SystemTesting
import Testing

@Suite("Calls", .timeLimit(.minutes(5)))
struct CallTests {
  static let interface = "org.edgeblue.Calls1"

  /// An object with a method that answers, one that fails, and one that never does.
  static func export(_ peer: NamedPeer, at path: ObjectPath = "/calls") throws -> ExportedObject {
    try peer.connection.export(
      path,
      [
        Interface(
          interface,
          methods: [
            .init("Double", in: [.init("n", "u")], out: [.init("n", "u")]) { call in
              [.uint32((call.arguments[0].integer(as: UInt32.self) ?? 0) &* 2)]
            },
            .init("Refuse") { _ in throw DBusError(name: "org.edgeblue.Error.Busy", message: "come back later") },
            .init("Break") { _ in throw TestTimeout("not a D-Bus error") },
            .init("Lie", out: [.init("n", "u")]) { _ in ["a string"] },
            .init("Never") { _ in
              try await Task.sleep(for: .seconds(3600))
              return []
            },
          ])
      ])
  }

  @Test("64 calls at a time, each with its own answer")
  func concurrent() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let object = try Self.export(server)
    let client = try await bus.connect()
    let wrong = try await withThrowingTaskGroup(of: Int.self) { group in
      for worker in 0..<64 {
        group.addTask {
          var wrong = 0
          for step in 0..<50 {
            let number = UInt32(worker * 1000 + step)
            let reply = try await client.call(server.name, "/calls", Self.interface, "Double", [.uint32(number)])
            if reply != [.uint32(number * 2)] { wrong += 1 }
          }
          return wrong
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(wrong == 0)
    withExtendedLifetime(object) {}
  }

  @Test("64 calls at a time to dbus-fast", .enabled(if: PythonPeer.isInstalled, "no .venv-peers"))
  func concurrentPython() async throws {
    let bus = try PrivateBus()
    let peer = try await PythonPeer(bus)
    let client = try await bus.connect()
    let replies = try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<640 {
        if number >= 64 { _ = try await group.next() }
        group.addTask {
          let sent: [Value] = [.uint32(UInt32(number)), .bytes(Array(repeating: UInt8(number % 256), count: 512))]
          return try await client.call(PythonPeer.name, "/peer", PythonPeer.interface, "Echo", sent) == sent
        }
      }
      return try await group.reduce(true) { $0 && $1 }
    }
    #expect(replies)
    withExtendedLifetime(peer) {}
  }

  @Test("A D-Bus error carries its name and its message")
  func refusal() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let object = try Self.export(server)
    let client = try await bus.connect()
    let refused = try await dbusError { try await client.call(server.name, "/calls", Self.interface, "Refuse") }
    #expect(refused == DBusError(name: "org.edgeblue.Error.Busy", message: "come back later"))
    let broken = try await dbusError { try await client.call(server.name, "/calls", Self.interface, "Break") }
    #expect(broken?.name == "org.freedesktop.DBus.Error.Failed")
    #expect(broken?.message.contains("not a D-Bus error") == true)
    let lie = try await dbusError { try await client.call(server.name, "/calls", Self.interface, "Lie") }
    #expect(lie?.name == "org.freedesktop.DBus.Error.Failed", "an object may not answer with a type it did not declare")
    withExtendedLifetime(object) {}
  }

  @Test(
    "An error of dbus-fast arrives with its name and its message",
    .enabled(if: PythonPeer.isInstalled, "no .venv-peers"))
  func refusalPython() async throws {
    let bus = try PrivateBus()
    let peer = try await PythonPeer(bus)
    let client = try await bus.connect()
    let refused = try await dbusError {
      try await client.call(
        PythonPeer.name, "/peer", PythonPeer.interface, "Fail", ["org.edgeblue.Error.Odd", "ünï"])
    }
    #expect(refused == DBusError(name: "org.edgeblue.Error.Odd", message: "ünï"))
    withExtendedLifetime(peer) {}
  }

  @Test("An absent peer, object or method and wrong arguments each have their standard error name")
  func standardErrors() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let object = try Self.export(server)
    let client = try await bus.connect()
    func name(_ destination: String, _ path: ObjectPath, _ interface: String, _ member: String, _ arguments: Value...)
      async throws -> String?
    {
      try await dbusError { try await client.call(destination, path, interface, member, arguments) }?.name
    }
    let prefix = "org.freedesktop.DBus.Error."
    #expect(try await name("org.edgeblue.Nobody", "/", Self.interface, "Double") == prefix + "ServiceUnknown")
    #expect(try await name(server.name, "/elsewhere", Self.interface, "Double") == prefix + "UnknownObject")
    #expect(try await name(server.name, "/calls", Self.interface, "Nothing") == prefix + "UnknownMethod")
    let otherInterface = try await name(server.name, "/calls", "org.edgeblue.Other1", "Double", .uint32(1))
    #expect([prefix + "UnknownInterface", prefix + "UnknownMethod"].contains(otherInterface))
    #expect(try await name(server.name, "/calls", Self.interface, "Double", "text") == prefix + "InvalidArgs")
    #expect(try await name(server.name, "/calls", Self.interface, "Double") == prefix + "InvalidArgs")
    withExtendedLifetime(object) {}
  }

  @Test("A reply of an unexpected type is an error that names both types")
  func unexpectedReply() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let object = try Self.export(server)
    let client = try await bus.connect()
    let error = try await dbusError {
      try await client.call(server.name, "/calls", Self.interface, "Double", [.uint32(1)], returning: "s")
    }
    #expect(error?.code == .unexpectedReply)
    #expect(error?.message.contains("'u'") == true)
    #expect(error?.message.contains("'s'") == true)
    withExtendedLifetime(object) {}
  }

  @Test("A call to a peer that never replies ends at its own timeout, and other calls continue")
  func timeout() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let stuck = try Self.export(server, at: "/stuck")
    let object = try Self.export(server)
    let client = try await bus.connect()
    let clock = ContinuousClock()
    let start = clock.now
    async let long = dbusError {
      try await client.call(server.name, "/stuck", Self.interface, "Never", options: .init(timeout: .milliseconds(400)))
    }
    async let short = dbusError {
      try await client.call(server.name, "/stuck", Self.interface, "Never", options: .init(timeout: .milliseconds(100)))
    }
    // The other object answers meanwhile.
    #expect(try await client.call(server.name, "/calls", Self.interface, "Double", [.uint32(2)]) == [.uint32(4)])
    #expect(try await short?.code == .timedOut)
    #expect(clock.now - start >= .milliseconds(100))
    #expect(try await long?.code == .timedOut)
    let took = clock.now - start
    #expect(took >= .milliseconds(400))
    #expect(took < .seconds(20))
    #expect(
      try await dbusError {
        try await client.call(server.name, "/stuck", Self.interface, "Never", options: .init(timeout: .zero))
      }?.code == .timedOut)
    withExtendedLifetime((object, stuck)) {}
  }

  @Test("A call without a timeout outlasts the timeouts of other calls")
  func noTimeout() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let slow = try server.connection.export(
      "/slow",
      [
        Interface(
          Self.interface,
          methods: [
            .init("Wait", out: [.init("done", "b")]) { _ in
              for await _ in gate { break }
              return [true]
            }
          ])
      ])
    let stuck = try Self.export(server, at: "/stuck")
    let client = try await bus.connect()
    async let answer = client.call(server.name, "/slow", Self.interface, "Wait", options: .init(timeout: nil))
    let error = try await dbusError {
      try await client.call(server.name, "/stuck", Self.interface, "Never", options: .init(timeout: .milliseconds(50)))
    }
    #expect(error?.code == .timedOut)
    open.yield()
    #expect(try await answer == [true])
    withExtendedLifetime((slow, stuck)) {}
  }

  @Test("A cancelled task ends its own call at once, and no other call")
  func cancellation() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let stuck = try Self.export(server, at: "/stuck")
    let object = try Self.export(server)
    let client = try await bus.connect()
    let task = Task { try await client.call(server.name, "/stuck", Self.interface, "Never") }
    #expect(try await client.call(server.name, "/calls", Self.interface, "Double", [.uint32(3)]) == [.uint32(6)])
    task.cancel()
    let result = try await within { await task.result }
    #expect(throws: CancellationError.self) { try result.get() }
    let before = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await client.call(server.name, "/calls", Self.interface, "Double", [.uint32(3)])
    }
    await #expect(throws: CancellationError.self) { try await before.value }
    #expect(try await client.call(server.name, "/calls", Self.interface, "Double", [.uint32(4)]) == [.uint32(8)])
    withExtendedLifetime((stuck, object)) {}
  }

  @Test("A cancellation at any point loses no result and delivers none twice")
  func cancellationRaces() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let object = try Self.export(server)
    let client = try await bus.connect()
    var answered = 0
    var cancelled = 0
    for number in 0..<300 {
      // A bus bears 128 calls of one connection that have no answer yet. Calls to one object are answered in order, so
      // that after the answer to this one none is left of those before it.
      if number % 50 == 0 { try await client.call(server.name, "/calls", Self.interface, "Double", [.uint32(1)]) }
      let task = Task { try await client.call(server.name, "/calls", Self.interface, "Double", [.uint32(1)]) }
      // From before the send to after the reply.
      for _ in 0..<(number % 30) { await Task.yield() }
      task.cancel()
      switch await task.result {
      case .success(let reply):
        #expect(reply == [.uint32(2)])
        answered += 1
      case .failure(let error):
        #expect(error is CancellationError)
        cancelled += 1
      }
    }
    #expect(answered + cancelled == 300)
    #expect(try await client.call(server.name, "/calls", Self.interface, "Double", [.uint32(4)]) == [.uint32(8)])
    withExtendedLifetime(object) {}
  }

  @Test("A call that expects no reply is served, and nothing is returned")
  func withoutReply() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let seen = Lock(0)
    let object = try server.connection.export(
      "/quiet",
      [
        Interface(
          Self.interface,
          methods: [
            .init("Poke") { _ in
              seen.withLock { $0 += 1 }
              return []
            }
          ])
      ])
    let client = try await bus.connect()
    for _ in 0..<10 { try client.callWithoutReply(server.name, "/quiet", Self.interface, "Poke") }
    try await client.call(server.name, "/quiet", Self.interface, "Poke")
    #expect(seen.withLock { $0 } == 11)
    withExtendedLifetime(object) {}
  }
}
