import DBus
import DBusTesting
import Streams
import SystemTesting
import Testing

/// The two rules every user of ``Connection`` leans on.
@Suite("Order", .timeLimit(.minutes(5)))
struct OrderTests {
  static let interface = "org.edgeblue.Order1"

  @Test("Calls to one object are served in the order of arrival, also when the handler suspends")
  func arrivalOrder() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let seen = Lock<[UInt32]>([])
    let running = Lock(0)
    let overlapped = Lock(false)
    let object = try server.connection.export(
      "/order",
      [
        Interface(
          Self.interface,
          methods: [
            .init("Add", in: [.init("n", "u")]) { call in
              let calls = running.withLock { running in
                running += 1
                return running
              }
              if calls > 1 { overlapped.withLock { $0 = true } }
              let number = call.arguments[0].integer(as: UInt32.self) ?? .max
              // Later calls would finish sooner, if they ran concurrently.
              for _ in 0..<(number % 7) * 3 { await Task.yield() }
              seen.withLock { $0.append(number) }
              running.withLock { $0 -= 1 }
              return []
            },
            .init("Done") { _ in [] },
          ])
      ])
    let client = try await bus.connect()
    for number in 0..<800 as Range<UInt32> {
      try client.callWithoutReply(server.name, "/order", Self.interface, "Add", [.uint32(number)])
    }
    // Thousands of times the handlers let all the other tests go first: the suite's own limit is the bound.
    try await client.call(server.name, "/order", Self.interface, "Done", options: .init(timeout: nil))
    #expect(seen.withLock { $0 } == Array(0..<800))
    #expect(!overlapped.withLock { $0 })
    withExtendedLifetime(object) {}
  }

  @Test("Calls to different objects run concurrently")
  func sideBySide() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let waiting = try server.connection.export(
      "/waits",
      [
        Interface(
          Self.interface,
          methods: [
            .init("Wait") { _ in
              for await _ in gate { break }
              return []
            }
          ])
      ])
    let opening = try server.connection.export(
      "/opens",
      [
        Interface(
          Self.interface,
          methods: [
            .init("Open") { _ in
              open.yield()
              return []
            }
          ])
      ])
    let client = try await bus.connect()
    async let first = client.call(server.name, "/waits", Self.interface, "Wait", options: .init(timeout: .seconds(15)))
    try await client.call(server.name, "/opens", Self.interface, "Open")
    _ = try await first
    withExtendedLifetime((waiting, opening)) {}
  }

  @Test("A signal sent before a reply is observed before the caller continues")
  func cacheBeforeReply() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let object = try server.connection.export("/cache", [])
    let served = try server.connection.export(
      "/cache/setter",
      [
        Interface(
          Self.interface,
          methods: [
            .init("Set", in: [.init("n", "u")]) { [weak object] call in
              try object?.emitPropertiesChanged(Self.interface, ["Number": call.arguments[0]])
              return []
            }
          ])
      ])
    let client = try await bus.connect()
    let cache = Lock<UInt32>(0)
    let subscription = try await client.observe(MatchRule(sender: server.name, path: "/cache")) { signal in
      if let number = signal.propertiesChanged?.changed["Number"]?.integer(as: UInt32.self) {
        cache.withLock { $0 = number }
      }
    }
    var stale = 0
    for number in 1...1000 as ClosedRange<UInt32> {
      try await client.call(server.name, "/cache/setter", Self.interface, "Set", [.uint32(number)])
      if cache.withLock({ $0 }) != number { stale += 1 }
    }
    #expect(stale == 0)
    withExtendedLifetime((object, served, subscription)) {}
  }

  @Test(
    "A signal that dbus-fast sends before a reply is observed before the caller continues",
    .enabled(if: PythonPeer.isInstalled, "no .venv-peers"))
  func cacheBeforeReplyPython() async throws {
    let bus = try PrivateBus()
    let peer = try await PythonPeer(bus)
    let client = try await bus.connect()
    let cache = Lock<UInt32>(0)
    let subscription = try await client.observe(
      MatchRule(sender: PythonPeer.name, interface: PythonPeer.interface, member: "Changed")
    ) { signal in
      cache.withLock { $0 = signal.arguments.first?.integer() ?? .max }
    }
    var stale = 0
    for number in 1...300 as ClosedRange<UInt32> {
      try await client.call(PythonPeer.name, "/peer", PythonPeer.interface, "SignalThenReply", [.uint32(number)])
      if cache.withLock({ $0 }) != number { stale += 1 }
    }
    #expect(stale == 0)
    withExtendedLifetime((peer, subscription)) {}
  }

  @Test("Replies of two senders in one burst are distinguished and in order")
  func streamOrder() async throws {
    let bus = try PrivateBus()
    let server = try await NamedPeer(bus)
    let client = try await bus.connect()
    let stream = try await client.signals(MatchRule(sender: server.name, interface: Self.interface), limit: 5000)
    for number in 0..<4000 as Range<UInt32> {
      try server.connection.emit("/order", Self.interface, "Tick", [.uint32(number)])
    }
    let numbers = try await within {
      var numbers: [UInt32] = []
      for await signal in stream {
        numbers.append(signal.arguments[0].integer() ?? .max)
        if numbers.count == 4000 { break }
      }
      return numbers
    }
    #expect(numbers == Array(0..<4000))
    #expect(stream.dropped == 0)
  }
}
