import Foundation
import GRDB
import Testing

@testable import Coverage

/// The numbers are those of the acceptance cases of the facts about coverage clients.
@Suite("The stored sessions") struct StoreTests {
  private let fixture: StoreFixture
  private var store: CoverageStore { fixture.store }

  init() throws { fixture = try StoreFixture() }

  @Test("133, 134, 222, 237, 238, 250: A run is a row without an identifier, which its first grant fills")
  func aRun() throws {
    let run = fixture.run("r")
    try store.begin(run)
    #expect(try fixture.uuids() == [nil])
    try store.apply([.add(StoreFixture.fence(1, at: 1))], of: run, at: .seconds(6))
    try store.apply([.assign("a")], of: run, at: .seconds(7))
    try store.apply([.assign("a")], of: run, at: .seconds(8))
    let session = try #require(try store.sessions().first)
    #expect(session.uuid == "a")
    #expect(session.anchorUs == run.startUs + 8_000_000)
    #expect(session.finalizedUs == nil)
    #expect(session.fences == 1)
    #expect(try store.sessions().count == 1)
  }

  @Test("239–241: Another grant ends the session with its fences, and begins another one") func twoGrants() throws {
    let run = try fixture.session("r", uuid: "a", isFinished: false)
    try store.apply([.begin("b"), .add(StoreFixture.fence(2, at: 20))], of: run, at: .seconds(10))
    try store.apply([.begin("c")], of: run, at: .seconds(30))
    let sessions = try store.sessions()
    #expect(sessions.map(\.uuid) == ["a", "b", "c"])
    #expect(sessions.map(\.fences) == [1, 1, 0])
    #expect(sessions.map { $0.finalizedUs.map { $0 - run.startUs } } == [10_000_000, 30_000_000, nil])
    #expect(sessions[1].anchorUs == sessions[0].finalizedUs)
  }

  @Test("242: A fence that changes after its session has ended is changed there, and never stored elsewhere")
  func lateChanges() throws {
    let run = try fixture.session("r", uuid: "a", isFinished: false)
    try store.apply([.begin("b")], of: run, at: .seconds(10))
    var fence = try StoreFixture.fence(1, at: 0)
    fence.pings.add(PingResult(at: .seconds(1), roundTrip: .milliseconds(40)))
    try store.apply([.update(fence)], of: run, at: .seconds(11))
    let first = try store.sessions()[0]
    #expect(try store.fences(of: first.id).map(\.mean) == [30])
    try store.remove(delivered: first.id)
    try store.apply([.update(fence), .remove(number: 1)], of: run, at: .seconds(12))
    #expect(try store.sessions().map(\.fences) == [0])
  }

  @Test("227–229, 244, 245: A fence is read as it was stored") func extras() throws {
    let run = try fixture.session("r", uuid: "a", fences: 0, isFinished: false)
    let place = try #require(
      CoverageLocation(
        latitude: 48.123456789012345, longitude: -16.987654321098765, accuracy: 4.5, altitude: 287.65432198,
        bearing: 137.6, speed: 1.523423))
    var fence = Fence(number: 7, place: place, radius: 26.5, entered: .microseconds(1_234_567), technology: .nr)
    fence.pings.add(PingResult(at: .zero, roundTrip: .microseconds(10_333)))
    try store.apply([.add(fence), .add(StoreFixture.fence(8, at: 9, ping: nil))], of: run, at: .seconds(3))
    let stored = try store.fences(of: try store.sessions()[0].id)
    #expect(stored[0].place == place)
    #expect(stored[0] == StoredFence(fence, runStartUs: run.startUs))
    #expect(stored[0].enteredUs == run.startUs + 1_234_567)
    #expect(stored[0].meanHundredths == 1033)
    #expect(stored[0].exitedUs == nil)
    #expect(stored[1].place.altitude == nil)
    #expect(stored[1].isUncovered)
  }

  @Test("A change is stored as a whole or not at all") func wholeChanges() throws {
    let run = try fixture.session("r", uuid: "a", isFinished: false)
    try fixture.session("s", uuid: "b")
    let error = #expect(throws: CoverageError.self) {
      try store.apply([.add(StoreFixture.fence(2, at: 3)), .assign("b")], of: run, at: .seconds(4))
    }
    #expect(error?.code == .invalidReply)
    #expect(try store.sessions().first { $0.uuid == "a" }?.fences == 1)
  }

  @Test("A session is dropped only if nobody measures it") func dropping() throws {
    try fixture.session("r", uuid: "a")
    try fixture.session("live", uuid: "b", isFinished: false)
    let sessions = try store.sessions()
    try store.drop(sessions[0].id)
    let lock = try #require(try store.lockForRun())
    let error = #expect(throws: CoverageError.self) { try store.drop(sessions[1].id) }
    #expect(error?.code == .busy)
    lock.release()
    try store.drop(sessions[1].id)
    #expect(try store.sessions().isEmpty)
    let missing = #expect(throws: CoverageError.self) { try store.drop(99) }
    #expect(missing?.code == .noSuchSession)
  }

  @Test("A file that is none is refused with its name, and left alone") func anotherFile() throws {
    let path = fixture.folder.path + "/other"
    try Data("not a database, but a text of some length that nobody may replace".utf8).write(to: URL(filePath: path))
    let before = try Data(contentsOf: URL(filePath: path))
    let error = #expect(throws: CoverageError.self) { try CoverageStore(path: path) }
    #expect(error?.code == .storage)
    #expect(error?.message.contains(path) == true)
    #expect(try Data(contentsOf: URL(filePath: path)) == before)
  }

  @Test("Looking shows one instant, creates nothing, and changes nothing", arguments: [true, false])
  func looking(_ hasLog: Bool) throws {
    try fixture.session("r", uuid: "a", fences: 2)
    if !hasLog { try store.file.database.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) } }
    let before = try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path).sorted()
    let copy = try CoverageStore.copy(of: store.path)
    #expect(try copy.sessions() == store.sessions())
    #expect(try copy.fences(of: try copy.sessions()[0].id).count == 2)
    try fixture.session("s", uuid: "b")
    #expect(try copy.sessions().count == 1)
    #expect(throws: CoverageError.self) { try copy.begin(fixture.run("t")) }
    #expect(try store.sessions().compactMap(\.run) == ["r", "s"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path).sorted() == before)
    let absent = fixture.folder.path + "/absent.sqlite"
    #expect(try CoverageStore.copy(of: absent).sessions().isEmpty)
    #expect(!FileManager.default.fileExists(atPath: absent))
  }

  @Test("A fence that a damaged file has is refused, and does not end the program") func damagedFence() throws {
    try fixture.session("r", uuid: "a")
    try store.write("damage") { try $0.execute(sql: "UPDATE fence SET latitude = 'x'") }
    let id = try store.sessions()[0].id
    #expect(throws: CoverageError.self) { try store.fences(of: id) }
    try store.write("damage") { try $0.execute(sql: "UPDATE fence SET latitude = 500") }
    #expect(throws: CoverageError.self) { try store.fences(of: id) }
  }
}
