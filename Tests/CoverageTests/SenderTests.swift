import Foundation
import Streams
import Testing

@testable import Coverage

/// The numbers are those of the acceptance cases of the facts about coverage clients.
@Suite("Sending stored sessions") struct SenderTests {
  private let fixture: StoreFixture
  private var store: CoverageStore { fixture.store }

  init() throws { fixture = try StoreFixture() }

  private func server(granting uuids: String..., fault: FakeServer.Fault? = nil) -> FakeServer {
    let server = FakeServer { _ in fault }
    for uuid in uuids { server.grant(uuid) }
    return server
  }

  @Test("207, 223, 225, 252, 256: Finished sessions are sent, the oldest first, and removed") func success()
    async throws
  {
    try fixture.session("1", uuid: "a", fences: 2)
    fixture.pass(milliseconds: 1000)
    try fixture.session("2", uuid: "b")
    let server = server(granting: "b", "a")
    let summary = try await fixture.sender(server).send()
    #expect(server.taken == ["a", "b"])
    #expect(summary.reports.map(\.outcome) == [.delivered, .delivered])
    #expect(summary.reports.map(\.fences) == [2, 1])
    #expect(try store.sessions().isEmpty)
    #expect(try await fixture.sender(server).send().reports.isEmpty)
  }

  @Test("235, 251, 253, 257: While a program measures, only finished sessions are sent, and its own is not touched")
  func warm() async throws {
    try fixture.session("done", uuid: "a")
    try fixture.session("live", uuid: "b", isFinished: false)
    let lock = try #require(try store.lockForRun())
    defer { lock.release() }
    let server = server(granting: "a", "b")
    _ = try await fixture.sender(server, of: try fixture.reopened()).send()
    #expect(server.taken == ["a"])
    #expect(try store.sessions().map(\.uuid) == ["b"])
    #expect(try store.sessions()[0].finalizedUs == nil)
  }

  @Test("236: What a killed program has left is finished and sent at the next start") func cold() async throws {
    try fixture.session("killed", uuid: "a", fences: 3, isFinished: false)
    try fixture.session("killed early", uuid: nil, fences: 0, isFinished: false)
    fixture.pass(milliseconds: 60_000)
    let server = server(granting: "a")
    _ = try await fixture.sender(server, of: try fixture.copy()).send()
    #expect(server.taken == ["a"])
    #expect(server.state.withLock { $0.taken[0].fences.count } == 3)
    let run = fixture.run("new")
    try store.begin(run)
    try store.recover(except: run.id)
    let sessions = try store.sessions()
    // Its end is that of its last fence.
    #expect(sessions.first { $0.uuid == "a" }?.finalizedUs == StoreFixture.start * 1000 + 25_000_000)
    #expect(sessions.first { $0.run == "new" }?.finalizedUs == nil)
  }

  @Test("A session of an older version without an end is sent when it is 15 minutes old") func legacy() async throws {
    try fixture.session("old", uuid: "a", isFinished: false)
    try store.write("make it old") { try $0.execute(sql: "UPDATE session SET run = NULL") }
    let server = server(granting: "a")
    fixture.pass(milliseconds: 5000 + 15 * 60_000 - 1)
    _ = try await fixture.sender(server).send()
    #expect(server.taken.isEmpty)
    fixture.pass(milliseconds: 1)
    _ = try await fixture.sender(server).send()
    #expect(server.taken == ["a"])
  }

  @Test("208, 224, 226, 249: A failure keeps the session, and holds up no other one") func failures() async throws {
    try fixture.session("1", uuid: "unknown")
    try fixture.session("2", uuid: "a")
    let summary = try await fixture.sender(server(granting: "a")).send()
    #expect(summary.reports.map(\.outcome) == [.refused("No started test found by id unknown"), .delivered])
    #expect(try fixture.uuids() == ["unknown"])
  }

  @Test(
    "A repeat that is answered that no such test is open counts as delivered",
    arguments: [
      FakeServer.Fault.lostReply, .failureAfterwards,
    ]) func repeats(_ fault: FakeServer.Fault) async throws
  {
    try fixture.session("1", uuid: "a")
    let isFirst = Lock(true)
    let server = FakeServer { _ in
      isFirst.withLock { first in
        defer { first = false }; return first ? fault : nil
      }
    }
    server.grant("a")
    _ = try await fixture.sender(server).send()
    #expect(try store.sessions().map(\.sending.isUnconfirmed) == [true])
    // Too early.
    _ = try await fixture.sender(server).send()
    #expect(server.attempts == 1)
    fixture.pass(milliseconds: 30_000)
    let summary = try await fixture.sender(server).send()
    #expect(summary.reports.map(\.outcome) == [.delivered])
    #expect(server.taken == ["a"])
    #expect(try store.sessions().isEmpty)
  }

  @Test(
    "What cannot have reached the server makes no later refusal a delivery",
    arguments: [
      FakeServer.Fault.unreachable, .portal,
    ]) func notDelivered(_ fault: FakeServer.Fault) async throws
  {
    try fixture.session("1", uuid: "gone")
    _ = try await fixture.sender(server(fault: fault)).send()
    #expect(try store.sessions().map(\.sending.isUnconfirmed) == [false])
    fixture.pass(milliseconds: 3_600_000)
    let summary = try await fixture.sender(server()).send()
    #expect(summary.reports.map(\.outcome) == [.refused("No started test found by id gone")])
    #expect(try store.sessions().count == 1)
  }

  @Test("A session that is refused five times is not sent again, and stays for its user") func refusals() async throws {
    try fixture.session("1", uuid: "a")
    let server = server(granting: "a", fault: .refusal)
    for _ in 0..<8 {
      _ = try await fixture.sender(server).send()
      fixture.pass(milliseconds: 3_600_000)
    }
    let session = try #require(try store.sessions().first)
    #expect(session.sending.refusals == 5)
    #expect(session.sending.attempts == 5)
    #expect(session.sending.problem == "figures")
  }

  @Test("Delays grow to an hour; a clock that is set back does not lengthen them") func delays() async throws {
    try fixture.session("1", uuid: "a")
    let server = server(fault: .failure)
    var delays: [Int64] = []
    for _ in 0..<9 {
      _ = try await fixture.sender(server).send()
      let notBefore = try #require(try store.sessions()[0].sending.notBeforeUs) / 1000
      delays.append((notBefore - fixture.wall.withLock { $0 }) / 1000)
      fixture.wall.withLock { $0 = notBefore }
    }
    #expect(delays == [30, 60, 120, 240, 480, 960, 1920, 3600, 3600])
    _ = try await fixture.sender(server).send()
    fixture.wall.withLock { $0 = StoreFixture.start }
    let session = try #require(try store.finished(at: StoreFixture.server, after: nil).first)
    #expect(ResendRules.isDue(session, nowUs: store.nowUs))
  }

  @Test("258, 263–266: A session without an identifier gets one later, and all its times lie before it")
  func lateAnchors() async throws {
    try fixture.session("1", uuid: nil)
    try fixture.session("2", uuid: nil)
    fixture.pass(milliseconds: 700_000)
    let failing = server(fault: .unreachable)
    _ = try await fixture.sender(failing).send()
    #expect(try fixture.uuids() == [nil, nil])
    fixture.pass(milliseconds: 60_000)
    let server = server()
    _ = try await fixture.sender(server).send()
    #expect(server.taken == ["u1", "u2"])
    let offsets = server.state.withLock { $0.taken.compactMap { $0.fences.first?["offset_ms"] as? Int } }
    #expect(offsets == [-760_000, -760_000])
  }

  @Test("230–234, 247, 248, 254, 255, 259–262: Old and empty sessions are removed unsent") func cleaning() async throws
  {
    try fixture.session("old", uuid: "a")
    try fixture.session("old and nameless", uuid: nil)
    fixture.pass(milliseconds: 6 * StoreFixture.day)
    try fixture.session("empty", uuid: "b", fences: 0)
    try fixture.session("recent", uuid: "c")
    try fixture.session("nameless", uuid: nil)
    try fixture.session("nameless and empty", uuid: nil, fences: 0)
    fixture.pass(milliseconds: StoreFixture.day + 600_001)
    let server = server(granting: "a", "b", "c")
    let summary = try await fixture.sender(server).send()
    #expect(summary.outdated == 2)
    #expect(server.taken == ["c", "u1"])
    #expect(try store.sessions().isEmpty)
  }

  @Test("246: A live session without an identifier is not touched, however old it is") func liveAndOld() async throws {
    let run = try fixture.session("live", uuid: nil, isFinished: false)
    let lock = try #require(try store.lockForRun())
    defer { lock.release() }
    fixture.pass(milliseconds: 9 * StoreFixture.day)
    let server = server()
    _ = try await fixture.sender(server).send()
    #expect(try store.sessions().map(\.run) == [run.id])
    #expect(server.state.withLock { $0.requests.isEmpty })
  }

  @Test("One program at a time sends") func oneSender() async throws {
    try fixture.session("1", uuid: "a")
    let lock = try #require(try store.lockForSending())
    let server = server(granting: "a")
    let error = await #expect(throws: CoverageError.self) { try await fixture.sender(server).send() }
    #expect(error?.code == .busy)
    lock.release()
    _ = try await fixture.sender(server).send()
    #expect(server.taken == ["a"])
  }

  @Test("Sessions of another server are left for it") func otherServers() async throws {
    let run = CoverageRunID(id: "1", server: "https://other", startUs: StoreFixture.start * 1000)
    try store.begin(run)
    try store.apply([.assign("a"), .add(StoreFixture.fence(1, at: 1)), .finalise], of: run, at: .seconds(9))
    let server = server(granting: "a")
    _ = try await fixture.sender(server).send()
    #expect(server.attempts == 0)
  }
}
