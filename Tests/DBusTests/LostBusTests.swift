import DBus
import DBusTesting
import Glibc
import Streams
import SystemTesting
import Testing

@Suite("A bus that goes away", .timeLimit(.minutes(5)))
struct LostBusTests {
  /// Checks that everything that a closed connection is asked to do fails at once.
  private static func laterUseFails(_ client: Connection, _ stuck: ExportedObject) async throws {
    #expect(!client.isOpen)
    let later = try await dbusError { try await client.call("org.x.Y", "/", "org.x.Y", "M") }
    #expect(later?.code == .disconnected)
    #expect(later?.name == "org.freedesktop.DBus.Error.Disconnected")
    #expect(throws: DBusError.self) { try client.emit("/", "org.x.Y", "S") }
    #expect(throws: DBusError.self) { try client.export("/late") }
    #expect(try await dbusError { try await client.signals(MatchRule()) }?.code == .disconnected)
    #expect(throws: DBusError.self) { try stuck.emit("org.x.Y", "S") }
  }

  @Test("When the bus is killed, pending calls fail with a typed error, streams end, and later calls fail at once")
  func killed() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let stuck = try CallTests.export(server, at: "/stuck")
    let client = try await bus.connect()
    let stream = try await client.signals(MatchRule(interface: "org.edgeblue.Any1"))
    let ended = Lock(0)
    let subscription = try await client.observe(
      MatchRule(interface: "org.edgeblue.Any1"), onEnd: { ended.withLock { $0 += 1 } }
    ) { _ in }
    let calls = (0..<20).map { number in
      Task {
        try await dbusError {
          try await client.call(
            server.name, "/stuck", CallTests.interface, "Never",
            options: .init(timeout: number % 2 == 0 ? nil : .seconds(25)))
        }
      }
    }
    let closed = Task { try await client.waitUntilClosed() }
    try await SignalTests.settle(client, server.connection)
    bus.kill()
    try await within(.seconds(60), "everything to end") { () async throws -> Void in
      for call in calls { #expect(try await call.value?.code == .disconnected) }
      for await _ in stream {}
      #expect(try await closed.value.code == .disconnected)
      #expect(try await server.connection.waitUntilClosed().code == .disconnected)
    }
    #expect(ended.withLock { $0 } == 1)
    try await Self.laterUseFails(client, stuck)
    // What is left can be ended all the same.
    subscription.cancel()
    stuck.remove()
    client.close()
    let reason = try await within { try await client.waitUntilClosed() }
    #expect(reason.code == .disconnected)
  }

  @Test("A bus that is killed during heavy traffic ends every call with an error", arguments: [1, 100, 1000])
  func killedUnderLoad(calls: Int) async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let object = try CallTests.export(server)
    let client = try await bus.connect()
    let answered = Lock(0)
    let workers = (0..<16).map { _ in
      Task {
        while true {
          try await client.call(server.name, "/calls", CallTests.interface, "Double", [.uint32(1)])
          answered.withLock { $0 += 1 }
          try client.emit("/calls", CallTests.interface, "Tick", [.bytes(Array(repeating: 1, count: 2000))])
        }
      }
    }
    try await eventually("\(calls) calls are answered") { answered.withLock { $0 } >= calls }
    bus.kill()
    try await within(.seconds(60), "the workers to end") { () async throws -> Void in
      for worker in workers {
        let result = await worker.result
        #expect(throws: DBusError.self) { try result.get() }
      }
    }
    withExtendedLifetime(object) {}
  }

  @Test("close() ends pending calls, and a released connection is closed")
  func close() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let stuck = try CallTests.export(server, at: "/stuck")
    let watcher = try await bus.connect()
    let client = try await bus.connect()
    let name = try #require(client.uniqueName)
    let call = Task {
      try await dbusError { try await client.call(server.name, "/stuck", CallTests.interface, "Never") }
    }
    try await SignalTests.settle(client, server.connection)
    client.close()
    let failure = try await within { try await call.value }
    #expect(failure?.code == .disconnected)
    try await eventually("the bus has seen it go") { try await watcher.owner(of: name) == nil }

    var dropped: Connection? = try await bus.connect()
    let droppedName = try #require(dropped?.uniqueName)
    #expect(try await watcher.owner(of: droppedName) == droppedName)
    dropped = nil
    try await eventually("the dropped connection is gone") { try await watcher.owner(of: droppedName) == nil }
    withExtendedLifetime(stuck) {}
  }

  @Test("A hundred connections leave neither threads nor descriptors behind")
  func manyConnections() async throws {
    let bus = try PrivateBus()
    _ = try await bus.connect().owner(of: "org.freedesktop.DBus")
    let before = (try runningThreads(), try openDescriptors())
    for _ in 0..<100 {
      let connection = try await bus.connect()
      let stream = try await connection.signals(MatchRule(interface: "org.edgeblue.Any1"))
      let object = try connection.export("/x", [])
      _ = try await connection.owner(of: "org.freedesktop.DBus")
      withExtendedLifetime((stream, object)) {}
    }
    // Other suites run beside this one, so a few of theirs may have come meanwhile; a hundred of ours must not.
    try await eventually("threads and descriptors are gone") {
      try runningThreads() < before.0 + 50 && openDescriptors() < before.1 + 80
    }
  }

  @Test(
    "A connection to an absent bus or an invalid address fails with a typed error",
    arguments: [
      "unix:path=/nonexistent/edgeblue/bus", "nonsense", "unix:", "tcp:host=", "unix:path=/\0", "",
    ])
  func cannotConnect(address: String) async throws {
    let error = try await within { try await dbusError { try await Connection.open(.address(address)) } }
    #expect(error?.code == .connectFailed || error?.code == .invalidArgument)
  }

  @Test("The wait for the end of a connection can be cancelled")
  func cancelWait() async throws {
    let bus = try PrivateBus()
    let client = try await bus.connect()
    let wait = Task { try await client.waitUntilClosed() }
    wait.cancel()
    let result = try await within { await wait.result }
    #expect(throws: CancellationError.self) { try result.get() }
    #expect(client.isOpen)
  }
}
