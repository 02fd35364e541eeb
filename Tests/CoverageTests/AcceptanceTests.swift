import Foundation
import SystemTesting
import Testing
import Timing

@testable import Coverage

/// The acceptance cases of the facts about coverage clients that the other suites of this target leave out.
///
/// These have no test, because what they are about does not exist here:
/// 14 (a host without a service that tells whether it is online: the kernel always tells), 16, 17, 19 (a continuation that
/// is resumed once: replies go through an inbox), 40 (one receive at a time: one thread receives), 41 (a name is resolved
/// once, before the first send), 127–132 (the region reporter of a toolkit), 150–155 (its selection: the page has one, which
/// MapPageTests clicks), 268–276 (a history that a server sends back) and 277–280 (the screen that shows it).
@Suite("Acceptance cases") struct AcceptanceTests {
  // MARK: Sessions

  @Test("9–11: A session is counted at each grant, has the server's version of IP, and a new run begins at none")
  func counts() {
    var driver = PingDriver()
    driver.pass(.seconds(1))
    #expect(driver.sessions == 1)
    let versions = driver.others.compactMap { action -> Int? in
      guard case .session(let grant) = action else { return nil }
      return grant.pings?.version
    }
    #expect(versions == [4])
    driver.link = .silent
    driver.pass(.seconds(10))
    #expect(driver.sessions == 2)
    #expect(PingDriver(network: .wifi).sessions == 0)
  }

  @Test("15, 18: A grant that comes after the end of a run is no session") func abandoned() {
    var driver = PingDriver(network: .none)
    driver.grants = nil
    driver.take(.network(.cellular))
    driver.pass(.seconds(2))
    #expect(driver.prepared.count == 1)
    driver.take(.stop)
    driver.answer(true)
    driver.pass(.seconds(5))
    #expect(driver.sessions == 0)
    #expect(driver.activated.isEmpty)
    #expect(driver.reports.isEmpty)
  }

  @Test("22, 25: One activation serves all pings, and a request leaves the socket alone") func preparation() {
    var driver = PingDriver()
    driver.pass(.seconds(60))
    #expect(driver.activated.count == 1)
    driver.grants = nil
    driver.link = .silent
    driver.pass(.seconds(8))
    #expect(driver.prepared.count == 2)
    let isClosed = driver.others.contains { if case .close = $0 { true } else { false } }
    #expect(!isClosed)
    #expect(driver.sent.last?.generation == driver.sent.first?.generation)
  }

  @Test("62: A good ping does not settle the refresh that Wi-Fi has made necessary") func owedRefresh() {
    var driver = PingDriver()
    driver.pass(.seconds(5))
    driver.take(.network(.wifi))
    driver.pass(.seconds(5))
    driver.grants = false
    driver.take(.network(.cellular))
    driver.pass(.seconds(1))
    #expect(driver.prepared.count == 2)
    let before = driver.reports.count
    driver.pass(.seconds(12))
    #expect(driver.reports[before...].contains { $0.roundTrip != nil })
    #expect(driver.prepared.count == 3)
  }

  @Test("92: The mobile network that returns honours the delay of failed activations") func gate() throws {
    var driver = PingDriver(network: .none)
    driver.connects = false
    driver.take(.network(.cellular))
    // Retried 1, 10 and 20 s after each other.
    driver.pass(.seconds(15))
    let count = driver.prepared.count
    let last = try #require(driver.prepared.last)
    #expect(count == 3)
    driver.take(.network(.wifi))
    driver.take(.network(.cellular))
    driver.pass(to: last + .seconds(19))
    #expect(driver.prepared.count == count)
    driver.pass(.seconds(2))
    #expect(driver.prepared.count == count + 1)
  }

  @Test("39, 42: A socket that is closed sends nothing any more, and the server gets nothing") func closedSocket()
    async throws
  {
    let server = try PingServer()
    let target = try #require(
      PingTarget(host: "127.0.0.1", port: server.port, token: [UInt8](repeating: 1, count: 16)))
    let socket = try await PingSocket.connect(to: target, interface: nil, clock: .continuous) { _ in }
    let request = PingPacket.request(1, token: target.token)
    #expect(socket.send(request) != nil)
    socket.close()
    try await eventually("the socket is closed") { socket.send(request) == nil }
    #expect(socket.send(request) == nil)
  }

  @Test("24, 43–47: Pings take the interface that is named; one that does not exist is an error") func interfaces()
    async throws
  {
    let server = try PingServer()
    let target = try #require(
      PingTarget(host: "127.0.0.1", port: server.port, token: [UInt8](repeating: 1, count: 16)))
    let socket = try await PingSocket.connect(to: target, interface: "lo", clock: .continuous) { _ in }
    #expect(socket.send(PingPacket.request(1, token: target.token)) != nil)
    socket.close()
    let error = await #expect(throws: CoverageError.self) {
      _ = try await PingSocket.connect(to: target, interface: "nope0", clock: .continuous) { _ in }
    }
    #expect(error?.code == .unreachable)
    #expect(error?.message.contains("nope0") == true)
  }

  // MARK: Fences

  @Test("96, 98: The radius fits twice the error and the way of one second") func radii() throws {
    #expect(FenceRules.radius(at: try #require(FenceDriver.place(0, accuracy: 8, speed: 4))) == 26)
    #expect(FenceRules.radius(at: try #require(FenceDriver.place(0, accuracy: 8, speed: 40))) == 40)
    #expect(FenceRules.radius(at: try #require(FenceDriver.place(0, accuracy: 0))) == 15)
  }

  @Test("105: A stored fence has the colour that it had while it was measured", arguments: CoverageTechnology.allCases)
  func colours(technology: CoverageTechnology) throws {
    for pings in [[], [20.0], [nil], [nil, 20.0]] as [[Double?]] {
      var fence = try StoreFixture.fence(1, at: 0)
      fence.technology = technology
      fence.pings = Fence.Pings()
      for ping in pings {
        fence.pings.add(PingResult(at: .zero, roundTrip: ping.map { .milliseconds($0) }))
      }
      #expect(StoredFence(fence, runStartUs: 0).color == fence.color)
    }
  }

  @Test("185, 186, 188: Of a walk over Wi-Fi nothing is stored, and of a mixed one what was measured without it")
  func wifi() {
    var driver = FenceDriver(.wifi)
    driver.walk(to: 0, at: 1)
    driver.walk(to: 100, at: 10)
    driver.walk(to: 200, at: 20)
    #expect(driver.stored.isEmpty)
    driver.take(.network(.cellular), at: 25)
    driver.walk(to: 201, at: 26)
    driver.walk(to: 300, at: 30)
    driver.take(.stop, at: 60)
    #expect(driver.fences.map(\.number) == [4, 5])
  }

  @Test("178, 179: A network that changes with a location counts for the fence that this location begins")
  func changeAtLocation() {
    var driver = FenceDriver()
    driver.walk(to: 0, at: 1)
    // Nothing told of the change before; it is known in the instant of the location.
    driver.take(.network(.wifi), at: 10)
    driver.walk(to: 100, at: 10)
    #expect(driver.machine.active?.isDirty == true)
    driver.take(.network(.cellular), at: 20)
    driver.walk(to: 101, at: 20)
    #expect(driver.machine.active?.isDirty == false)
    #expect(driver.machine.active?.number == 3)
    driver.take(.stop, at: 30)
    #expect(driver.fences.map(\.number) == [3])
  }

  @Test("180: A fence is dirty without any grant, and its later grant does not store it") func dirtyWithoutGrant() {
    var driver = FenceDriver()
    driver.walk(to: 0, at: 1)
    driver.take(.network(.wifi), at: 2)
    #expect(driver.machine.session == nil)
    #expect(driver.machine.active?.isDirty == true)
    driver.take(.session("a"), at: 15)
    driver.take(.stop, at: 30)
    #expect(driver.stored.isEmpty)
  }

  // MARK: Storing and sending

  @Test("138, 140–142, 148, 149, 198–201: Each session of a run is sent once, with the fences that are its own")
  func ownFences() async throws {
    let fixture = try StoreFixture()
    let run = fixture.run("r")
    try fixture.store.begin(run)
    try fixture.store.apply([.add(StoreFixture.fence(1, at: 1)), .assign("a")], of: run, at: .seconds(10))
    try fixture.store.apply([.add(StoreFixture.fence(2, at: 11))], of: run, at: .seconds(20))
    try fixture.store.apply([.begin("b"), .add(StoreFixture.fence(3, at: 21))], of: run, at: .seconds(21))
    // A resend while the run goes on takes what is finished.
    let server = FakeServer()
    for uuid in ["a", "b", "c"] { server.grant(uuid) }
    _ = try await fixture.sender(server).sendFinished()
    #expect(server.taken == ["a"])
    try fixture.store.apply([.begin("c"), .finalise], of: run, at: .seconds(40))
    _ = try await fixture.sender(server).send()
    _ = try await fixture.sender(server).send()
    let counts = server.state.withLock { $0.taken.map { "\($0.uuid) \($0.fences.count)" } }
    #expect(counts == ["a 2", "b 1"])
    #expect(try fixture.store.sessions().isEmpty)
  }

  @Test("139, 204: A run that was never granted a session stays, and one without fences goes") func neverGranted()
    async throws
  {
    let fixture = try StoreFixture()
    try fixture.session("r", uuid: nil)
    try fixture.session("s", uuid: nil, fences: 0)
    let server = FakeServer { _ in .unreachable }
    _ = try await fixture.sender(server).send()
    #expect(try fixture.store.sessions().map(\.run) == ["r"])
    #expect(server.attempts == 0)
  }

  /// Returns a store with a finished session of an earlier run, and the server that has granted it.
  private func withEarlier() throws -> (fixture: StoreFixture, server: FakeServer) {
    let fixture = try StoreFixture()
    try fixture.session("earlier", uuid: "old", fences: 2)
    let isOffline = FakeServer { $0 == .request ? .refusal : nil }
    isOffline.grant("old")
    return (fixture, isOffline)
  }

  @Test("202: A session without fences of its own is not sent, and earlier ones are") func noneOfItsOwn() async throws {
    let (fixture, server) = try withEarlier()
    try fixture.session("now", uuid: "new", fences: 0)
    server.grant("new")
    _ = try await fixture.sender(server).send()
    #expect(server.taken == ["old"])
    #expect(try fixture.store.sessions().isEmpty)
  }

  @Test("203, 206: Fences without an identifier are not sent, the reason is told, and earlier sessions are sent")
  func allWithoutIdentifier() async throws {
    let (fixture, server) = try withEarlier()
    try fixture.session("now", uuid: nil, fences: 3)
    let summary = try await fixture.sender(server).send()
    #expect(server.taken == ["old"])
    #expect(
      summary.reports.map(\.outcome) == [
        .delivered, .waiting("request a session: the control server declined: figures"),
      ])
    #expect(try fixture.store.sessions().map(\.fences) == [3])
  }

  @Test("205: Beside fences without an identifier, those with one are sent alone") func oneWithIdentifier() async throws
  {
    let (fixture, server) = try withEarlier()
    try fixture.session("lost", uuid: nil, fences: 3)
    fixture.pass(milliseconds: 1000)
    try fixture.session("now", uuid: "new", fences: 4)
    server.grant("new")
    _ = try await fixture.sender(server).send()
    let counts = server.state.withLock { $0.taken.map { "\($0.uuid) \($0.fences.count)" } }
    #expect(counts == ["old 2", "new 4"])
    #expect(try fixture.store.sessions().map(\.run) == ["lost"])
  }

  @Test("243, 267: Many fences go to the newest session, and are sent together") func manyFences() async throws {
    let fixture = try StoreFixture()
    let run = fixture.run("r")
    try fixture.store.begin(run)
    try fixture.store.apply([.assign("a"), .begin("b")], of: run, at: .zero)
    let fences = try (1...500).map { FenceMachine.Action.add(try StoreFixture.fence($0, at: Double($0))) }
    try fixture.store.apply(fences + [.finalise], of: run, at: .seconds(900))
    let server = FakeServer()
    server.grant("b")
    _ = try await fixture.sender(server).send()
    #expect(server.state.withLock { $0.taken.map(\.fences.count) } == [500])
    #expect(try fixture.store.sessions().isEmpty)
  }

  // MARK: One's own fleet

  /// A destination that fails as often as a test wants.
  private final class Place: CoverageDestination {
    let taken = LockedParts()
    let failures: Int

    init(failures: Int) { self.failures = failures }

    func take(_ session: CoverageSession, _ fences: [StoredFence]) throws {
      if taken.add(.init(session: session, fences: fences)) <= failures {
        throw CoverageError(.noSpace, "the disk is full")
      }
    }
  }

  @Test("A destination gets each session before it is sent, with the same contents after a failure")
  func destination() async throws {
    let fixture = try StoreFixture()
    try fixture.session("r", uuid: "a", fences: 2)
    let server = FakeServer()
    server.grant("a")
    let place = Place(failures: 1)
    let sender = CoverageSender(
      store: fixture.store, server: StoreFixture.server, transport: server, destination: place)
    #expect(try await sender.send().reports.map(\.outcome) == [.waiting("the disk is full")])
    #expect(server.attempts == 0)
    fixture.pass(milliseconds: StoreFixture.day / 12)
    #expect(try await sender.send().reports.map(\.outcome) == [.delivered])
    let lines = place.taken.parts.map { CoverageExport.geoJSONLines($0) }
    try #require(lines.count == 2)
    #expect(lines[0] == lines[1])
    #expect(lines[0].split(separator: UInt8(ascii: "\n")).count == 2)
  }
}
