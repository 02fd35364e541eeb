import Foundation
import Testing
import Timing

@testable import Agent

@Suite("The files of the coordinator session") struct CoordinatorFilesTests {
  private let folder: String

  init() throws {
    folder =
      FileManager.default.temporaryDirectory.appending(path: "edgeblue-files-\(UUID().uuidString.prefix(8))").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  private func removeFolder() { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: folder) } }

  private func result(_ id: String) -> ResultRequest {
    ResultRequest(
      subtaskId: id, taskId: "T", agentId: "a", ok: true, output: "\u{0}\"\n" + id, error: nil, durationMs: 5)
  }

  private func reading(_ now: Duration, _ wallMs: Int64, boot: String = "1", _ bootMs: Int64 = 0) -> ClockReading {
    ClockReading(now: now, wallMs: wallMs, boot: BootInstant(boot: boot, atMs: bootMs))
  }

  @Test("Results of one coordinator are restored in order") func resultsComeBackInOrderAndOnlyOnes() throws {
    defer { removeFolder() }
    let outbox = try ResultOutbox(folder: folder + "/results", coordinator: "http://one")
    for number in [2, 10, 1] { try outbox.keep(.init(number: number, result: result("\(number)"))) }
    try ResultOutbox(folder: folder + "/results", coordinator: "http://two").keep(
      .init(number: 11, result: result("x")))
    try Data("{\"version\":1".utf8).write(to: URL(filePath: folder + "/results/3.json"))
    try Data(count: 3 << 20).write(to: URL(filePath: folder + "/results/4.json"))
    try Data("cut off".utf8).write(to: URL(filePath: folder + "/results/5.json.new"))
    let loaded = try outbox.load()
    #expect(loaded.entries.map(\.number) == [1, 2, 10])
    #expect(loaded.entries.map(\.result.subtaskId) == ["1", "2", "10"])
    #expect(loaded.problems.count == 2)
    #expect(loaded.problems.allSatisfy { $0.contains(".damaged") })
    #expect(FileManager.default.fileExists(atPath: folder + "/results/3.json.damaged"))
    #expect(outbox.nextNumber() == 12)
    outbox.discard(2)
    #expect(try outbox.load().entries.map(\.number) == [1, 10])
    #expect(try outbox.load().problems == [])
    let rights = try FileManager.default.attributesOfItem(atPath: folder + "/results/1.json")[.posixPermissions] as? Int
    #expect(rights == 0o600)
  }

  @Test("A full disk is reported and leaves earlier results intact") func aFullDiskIsSaidAndHarmsNothing() throws {
    defer { removeFolder() }
    let outbox = try ResultOutbox(folder: folder + "/results", coordinator: "c")
    try outbox.keep(.init(number: 1, result: result("1")))
    // Nothing can be written where a folder has the name.
    try FileManager.default.createDirectory(atPath: folder + "/results/2.json.new", withIntermediateDirectories: true)
    let error = #expect(throws: AgentError.self) { try outbox.keep(.init(number: 2, result: result("2"))) }
    #expect(error?.code == .storage)
    #expect(try outbox.load().entries.map(\.number) == [1])
  }

  @Test("The session survives a restart and a clock that is set") func theSessionOutlivesTheProgramAndItsClock() throws
  {
    defer { removeFolder() }
    let path = folder + "/coordinator.json"
    let store = CoordinatorStore(path: path, coordinator: "c", agentID: "a")
    var session = CoordinatorSession()
    session.enrolment = .registered
    session.meshToken = "secret"
    session.registrations = [.seconds(10), .seconds(90)]
    session.heartbeats = .accepted(last: .seconds(95), sent: .seconds(99))
    session.unsignedUntil = .seconds(200)
    session.quietUntil = .seconds(3000)
    session.conduct.note(result("1"), atMs: 80_000)
    try store.save(session, at: reading(.seconds(100), 1_700_000_000_000))
    // Half a minute later by the wall clock; the agent's own begins anew.
    let loaded = try store.load(at: reading(.zero, 1_700_000_030_000, boot: "2"))
    var expected = session
    expected.registrations = [.seconds(-120), .seconds(-40)]
    expected.unsignedUntil = .seconds(70)
    expected.quietUntil = .seconds(2870)
    // Nobody will ever hear what became of it.
    expected.heartbeats = .accepted(last: .seconds(-35), unsure: .seconds(-31))
    expected.conduct = session.conduct.moved(fromMs: 80_000, toMs: -50_000)
    #expect(loaded.session == expected)
    #expect(loaded.problem == nil)
    // A clock that was set back makes nothing older than it is.
    let back = try store.load(at: reading(.zero, 1_600_000_000_000, boot: "3"))
    #expect(back.session.registrations == [.zero, .zero])
    #expect(back.session.quietUntil == .seconds(3690))
    // Another coordinator's, or another machine's, is none of ours.
    #expect(
      try CoordinatorStore(path: path, coordinator: "d", agentID: "a").load(at: reading(.zero, 0, boot: "2")).session
        == .init())
    #expect(
      try CoordinatorStore(path: path, coordinator: "c", agentID: "b").load(at: reading(.zero, 0, boot: "2")).session
        == .init())
  }

  @Test("A corrupt session file is reported, and the machine registers again", arguments: [0, 1, 2, 3])
  func aCorruptSessionIsReported(index: Int) throws {
    defer { removeFolder() }
    let path = folder + "/coordinator.json"
    let store = CoordinatorStore(path: path, coordinator: "c", agentID: "a")
    let text = ["", "{}", "null", String(repeating: " ", count: 70_000)][index]
    try Data(text.utf8).write(to: URL(filePath: path))
    let damaged = try store.load(at: reading(.zero, 0, boot: "2"))
    #expect(damaged.session == .init())
    #expect(damaged.problem?.code == .damagedFile)
  }

  @Test("Numbers of any size in a session file do not stop the agent", arguments: [Int64.min, .max])
  func extremeNumbers(number: Int64) throws {
    defer { removeFolder() }
    let path = folder + "/coordinator.json"
    let store = CoordinatorStore(path: path, coordinator: "c", agentID: "a")
    var session = CoordinatorSession()
    session.registrations = [.seconds(10)]
    session.heartbeats = .accepted(last: .seconds(95), sent: .seconds(99))
    session.quietUntil = .seconds(3000)
    session.conduct.note(result("1"), atMs: 80_000)
    try store.save(session, at: reading(.seconds(100), 1_700_000_000_000))
    let text = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
    // The clock since the boot stays; then it is as extreme in the other direction.
    let times = /"(\w*AtMs|quietUntilMs)":-?\d+/
    let extreme = text.replacing(times) { "\"\($0.output.1)\":\(number)" }
      .replacing(/"registrationsAtMs":\[.*?\]/, with: "\"registrationsAtMs\":[\(number)]")
    for atMs in [number, 0, ~number] {
      let changed = extreme.replacing(/"atMs":-?\d+/, with: "\"atMs\":\(atMs)")
      try Data(changed.utf8).write(to: URL(filePath: path))
      let loaded = try store.load(at: reading(.seconds(5), 1_700_000_000_000, 5000))
      #expect(loaded.session.quietUntil ?? .zero <= .seconds(5) + CoordinatorSession.quiet)
    }
  }

  @Test("The largest number in the name of a result does not stop the agent") func theLastNumber() throws {
    defer { removeFolder() }
    let outbox = try ResultOutbox(folder: folder + "/results", coordinator: "c")
    try Data().write(to: URL(filePath: folder + "/results/\(Int.max).json"))
    #expect(outbox.nextNumber() == 1)
  }

  @Test("An identity stays the same after a restart") func aMachineIsTheSameAfterARestart() throws {
    defer { removeFolder() }
    let path = folder + "/identity.json"
    let first = try MachineIdentity.load(path: path, hostName: "My Board.Ünder_the.desk-of-somebody-else")
    #expect(first.agentID.wholeMatch(of: /my-board-nder-the-desk-o-[0-9a-f]{6}/) != nil, "\(first)")
    #expect(first.signingSeed.count == 32)
    #expect(!"\(first)".contains(first.signingSeed.base64EncodedString()))
    #expect(try MachineIdentity.load(path: path, hostName: "other") == first)
    let chosen = try MachineIdentity.load(path: path, hostName: "other", chosen: "CRS-1")
    #expect(chosen.agentID == "CRS-1")
    #expect(chosen.signingSeed == first.signingSeed)
    for id in ["", "a b", "a\nb", String(repeating: "a", count: 129)] {
      #expect(throws: AgentError.self) { try MachineIdentity.load(path: path, hostName: "h", chosen: id) }
    }
    #expect(MachineIdentity.make(hostName: "()").agentID.hasPrefix("linux-"))
  }

  @Test(
    "A corrupt identity is reported, and stays as it is",
    arguments: [
      "", "{}", "null", "[]", "\u{0}", String(repeating: " ", count: 5000),
      #"{"version":1,"agentId":"a","signingSeed":"BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="#,
      #"{"version":1,"agentId":"a","signingSeed":"BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBw=="}"#,
      #"{"version":2,"agentId":"a","signingSeed":"BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="}"#,
      #"{"version":1,"agentId":"","signingSeed":"BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="}"#,
      #"{"version":1,"agentId":"a\r\nx: y","signingSeed":"BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="}"#,
    ])
  func aCorruptIdentityIsReported(text: String) throws {
    defer { removeFolder() }
    let path = folder + "/identity.json"
    try Data(text.utf8).write(to: URL(filePath: path))
    for chosen in [nil, "chosen"] {
      let error = #expect(throws: AgentError.self) {
        try MachineIdentity.load(path: path, hostName: "h", chosen: chosen)
      }
      #expect(error?.code == .damagedFile)
    }
    #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
  }

  /// A board without a clock of its own boots with an earlier time, which shows only if it is before the last writing.
  @Test("A session is written once a minute also while nothing changes", arguments: [true, false])
  func renewal(isReachable: Bool) {
    var bench = CoordinatorBench()
    bench.connect()
    bench.machine.isSparing = true
    var written: [Duration] = [bench.now]
    func note(_ actions: [CoordinatorMachine.Action]) {
      guard actions.contains(.save) else { return }
      _ = bench.on(.saved)
      written.append(bench.now)
    }
    while let next = bench.machine.wakeAt, next <= .seconds(3600) {
      let actions = bench.wait()
      note(actions)
      for call in actions.calls {
        let lost = CoordinatorTransportError("nothing answers", mayHaveArrived: false)
        note(isReachable ? bench.hear(call, 200, #"{"ok":true}"#, after: .zero) : bench.on(.ended(call, .none(lost))))
      }
    }
    let longest = zip(written, written.dropFirst()).map { $1 - $0 }.max()
    #expect(longest == .seconds(60))
    // A heartbeat every 4 min, as on a metered network, is written before it is sent and when it was accepted.
    if isReachable { #expect(written.count <= 60 + 2 * 16) }
  }

  /// A program that is killed before the response would count from the heartbeat before, which is four minutes older.
  @Test("A rare heartbeat is written before it is sent") func rareHeartbeat() {
    var session = CoordinatorSession()
    session.enrolment = .registered
    session.heartbeats = .accepted(last: .seconds(-240))
    var bench = CoordinatorBench(session)
    #expect(bench.on(.start) == [.save, .send(.heartbeat, isSigned: false)])
    #expect(bench.machine.session.heartbeats.sent == .zero)
    _ = bench.hear(.heartbeat, 200, #"{"ok":true}"#)
    #expect(bench.machine.session.heartbeats == .accepted(last: bench.now))
  }
}
