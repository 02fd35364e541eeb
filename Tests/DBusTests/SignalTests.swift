import DBus
import DBusTesting
import Glibc
import Streams
import SystemTesting
import Testing

@Suite("Signals and names", .timeLimit(.minutes(5)))
struct SignalTests {
  static let interface = "org.edgeblue.Signals1"

  /// Returns when everything sent to `client` so far has reached it: a reply cannot overtake a signal.
  static func settle(_ sender: Connection, _ client: Connection) async throws {
    _ = try await sender.owner(of: "org.freedesktop.DBus")
    _ = try await client.owner(of: "org.freedesktop.DBus")
  }

  @Test("A slow subscriber loses the oldest signals, and the stream counts them")
  func bounded() async throws {
    let bus = try PrivateBus()
    let sender = try await bus.connect()
    let client = try await bus.connect()
    let stream = try await client.signals(MatchRule(interface: Self.interface), limit: 4)
    for number in 0..<100 as Range<UInt32> { try sender.emit("/s", Self.interface, "Tick", [.uint32(number)]) }
    try await Self.settle(sender, client)
    #expect(stream.dropped == 96)
    let kept = try await within {
      var kept: [UInt32] = []
      for await signal in stream {
        kept.append(signal.arguments[0].integer() ?? .max)
        if kept.count == 4 { break }
      }
      return kept
    }
    #expect(kept == [96, 97, 98, 99])
  }

  @Test("A subscription delivers exactly the signals that match its rule")
  func filter() async throws {
    let bus = try PrivateBus()
    let sender = try await bus.connect()
    let client = try await bus.connect()
    let seen = Lock<[String: Int]>([:])
    func count(_ name: String, _ rule: MatchRule) async throws -> Subscription {
      try await client.observe(rule) { _ in seen.withLock { $0[name, default: 0] += 1 } }
    }
    let subscriptions = [
      try await count("all", MatchRule(interface: Self.interface)),
      try await count("member", MatchRule(interface: Self.interface, member: "B")),
      try await count("path", MatchRule(path: "/a/b", interface: Self.interface)),
      try await count("namespace", MatchRule(pathNamespace: "/a", interface: Self.interface)),
      try await count("argument", MatchRule(interface: Self.interface, argument0: "yes")),
      try await count("sender", MatchRule(sender: sender.uniqueName, interface: Self.interface)),
      try await count("other", MatchRule(sender: client.uniqueName, interface: Self.interface)),
    ]
    try sender.emit("/a", Self.interface, "A", ["yes"])
    try sender.emit("/a/b", Self.interface, "B", ["no"])
    try sender.emit("/ab", Self.interface, "B", [.uint32(1)])
    try sender.emit("/a/b/c", "org.edgeblue.Other1", "B", ["yes"])
    try sender.emit("/a/b", Self.interface, "C", ["yes"], to: client.uniqueName)
    try await Self.settle(sender, client)
    #expect(
      seen.withLock { $0 } == ["all": 4, "member": 2, "path": 2, "namespace": 3, "argument": 2, "sender": 4])
    withExtendedLifetime(subscriptions) {}
  }

  /// Subscribes with a rule of its own each time, and ends the subscriptions in each of the possible ways.
  private static func subscribeAndEnd(_ client: Connection, times: Int) async throws {
    for number in 0..<times {
      let rule = MatchRule(interface: "org.edgeblue.Numbered\(number)")
      switch number % 3 {
      case 0: try await client.observe(rule) { _ in }.cancel()
      case 1: _ = try await client.observe(rule) { _ in }
      default:
        let stream = try await client.signals(rule)
        let reader = Task { for await _ in stream {} }
        reader.cancel()
        await reader.value
      }
    }
  }

  @Test("Equal rules are one rule at the bus, which the last subscription removes")
  func countedRules() async throws {
    // A bus that allows eight rules per connection would refuse the ninth.
    let bus = try PrivateBus(limits: ["max_match_rules_per_connection": 8])
    let sender = try await bus.connect()
    let client = try await bus.connect()
    let seen = Lock(0)
    let rule = MatchRule(interface: Self.interface)
    var subscriptions: [Subscription] = []
    for _ in 0..<50 { subscriptions.append(try await client.observe(rule) { _ in seen.withLock { $0 += 1 } }) }
    try sender.emit("/s", Self.interface, "Tick")
    try await Self.settle(sender, client)
    #expect(seen.withLock { $0 } == 50)
    subscriptions.removeLast(49)
    try sender.emit("/s", Self.interface, "Tick")
    try await Self.settle(sender, client)
    #expect(seen.withLock { $0 } == 51)
    subscriptions[0].cancel()
    try sender.emit("/s", Self.interface, "Tick")
    try await Self.settle(sender, client)
    #expect(seen.withLock { $0 } == 51)
    // Ended subscriptions leave no rule behind, however they end.
    try await Self.subscribeAndEnd(client, times: 40)
    // Followed names have rules of their own; they go too.
    for _ in 0..<20 { _ = try await client.observe(MatchRule(sender: "org.edgeblue.Followed")) { _ in } }
    var held: [Subscription] = []
    for number in 0..<8 {
      held.append(try await client.observe(MatchRule(interface: "org.edgeblue.Held\(number)")) { _ in })
    }
    let tooMany = try await dbusError { try await client.observe(MatchRule(interface: "org.edgeblue.Ninth")) { _ in } }
    #expect(tooMany?.name == "org.freedesktop.DBus.Error.LimitsExceeded")
    withExtendedLifetime(held) {}
  }

  @Test("Concurrent subscriptions to one rule each receive every signal that follows")
  func subscriptionRaces() async throws {
    let bus = try PrivateBus()
    let sender = try await bus.connect()
    let client = try await bus.connect()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<16 {
        group.addTask {
          for step in 0..<20 {
            let seen = Lock(false)
            let subscription = try await client.observe(MatchRule(interface: Self.interface)) { signal in
              if signal.arguments == [.uint32(UInt32(worker * 100 + step))] { seen.withLock { $0 = true } }
            }
            try sender.emit("/s", Self.interface, "Tick", [.uint32(UInt32(worker * 100 + step))])
            try await Self.settle(sender, client)
            #expect(seen.withLock { $0 }, "worker \(worker), step \(step)")
            subscription.cancel()
          }
        }
      }
      try await group.waitForAll()
    }
  }

  @Test("A rule with a well-known sender follows the owner of the name, and accepts no other sender")
  func wellKnownSender() async throws {
    let bus = try PrivateBus()
    let first = try await bus.connect()
    let second = try await bus.connect()
    let impostor = try await bus.connect()
    let client = try await bus.connect()
    let name = "org.edgeblue.Moving"
    let seen = Lock<[String]>([])
    let subscription = try await client.observe(MatchRule(sender: name, interface: Self.interface)) { signal in
      seen.withLock { $0.append(signal.arguments.first?.string ?? "") }
    }
    func everyoneSays(_ text: String) async throws {
      for (who, connection) in [("first", first), ("second", second), ("impostor", impostor)] {
        // Sent to this client by name, so that the bus delivers it whatever our rules say.
        try connection.emit("/s", Self.interface, "Said", [.string("\(who) \(text)")], to: client.uniqueName)
        try await Self.settle(connection, client)
      }
    }
    try await everyoneSays("with no owner")
    #expect(try await first.requestName(name, allowReplacement: true) == .owner)
    try await everyoneSays("one")
    #expect(try await second.requestName(name, replace: true) == .owner)
    try await everyoneSays("two")
    try await second.releaseName(name)
    try await everyoneSays("three")
    #expect(seen.withLock { $0 } == ["first one", "second two"])
    withExtendedLifetime(subscription) {}
  }

  @Test("Taken, queued, replaced and released names are reported to every observer")
  func names() async throws {
    let bus = try PrivateBus()
    let first = try await bus.connect()
    let second = try await bus.connect()
    let watcher = try await bus.connect()
    let name = "org.edgeblue.Name"
    let changes = Lock<[NameOwnerChange]>([])
    let watch = try await watcher.observeOwner(of: name) { change in changes.withLock { $0.append(change) } }
    #expect(try await watcher.owner(of: name) == nil)
    #expect(try await first.requestName(name) == .owner)
    #expect(try await first.requestName(name) == .alreadyOwner)
    #expect(try await second.requestName(name) == .taken)
    #expect(try await second.requestName(name, queue: true) == .queued)
    #expect(try await watcher.owner(of: name) == first.uniqueName)
    #expect(try await watcher.processID(of: name) == getpid())
    try await first.releaseName(name)
    #expect(try await watcher.owner(of: name) == second.uniqueName)
    second.close()
    try await eventually("the name is free") { try await watcher.owner(of: name) == nil }
    #expect(changes.withLock { $0 }.map(\.oldOwner) == [nil, first.uniqueName, second.uniqueName])
    #expect(changes.withLock { $0 }.map(\.newOwner) == [first.uniqueName, second.uniqueName, nil])
    let nobody = try await dbusError { try await watcher.processID(of: name) }
    #expect(nobody?.name == "org.freedesktop.DBus.Error.NameHasNoOwner")
    withExtendedLifetime(watch) {}
  }

  @Test("All signals of dbus-fast arrive, in order", .enabled(if: PythonPeer.isInstalled, "no .venv-peers"))
  func python() async throws {
    let bus = try PrivateBus()
    let peer = try await PythonPeer(bus)
    let client = try await bus.connect()
    let numbers = Lock<[UInt32]>([])
    let subscription = try await client.observe(
      MatchRule(sender: PythonPeer.name, interface: PythonPeer.interface, member: "Tick")
    ) { signal in
      numbers.withLock { $0.append(signal.arguments.first?.integer() ?? .max) }
    }
    try await client.call(PythonPeer.name, "/peer", PythonPeer.interface, "Burst", [.uint32(2000)])
    #expect(numbers.withLock { $0 } == Array(0..<2000))
    withExtendedLifetime((peer, subscription)) {}
  }
}
