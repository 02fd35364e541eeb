import DeterministicTesting
import Foundation
import JSONValues
import Streams
import SystemTesting
import Testing

@testable import SpeedTest

/// Exactly once: over lost replies, outages and kills.
@Suite("Submissions") struct SubmissionTests {
  private static let test = "8723358c-2037-4029-a70c-91e5d9d35cf3"

  private static func submission(_ kind: Submission.Kind = .result, created: Int64 = 0, test: String = test)
    -> Submission
  {
    Submission(
      kind: kind, test: test, server: "https://control.example/RMBTControlServer",
      url: "https://control.example/RMBTControlServer/" + (kind == .result ? "result" : "resultQoS"),
      createdMs: created,
      document: "{}")
  }

  // MARK: The state machine

  @Test("An attempt is stored before it is made") func storedFirst() {
    var submission = Self.submission()
    #expect(submission.handle(.begin) == [.save, .send])
    #expect(submission.isUnconfirmed)
    #expect(submission.handle(.replied(status: 200, errors: [])) == [.finish(.submitted)])
  }

  @Test("A refusal of a first attempt is one, and of a repeat the confirmation") func refusals() {
    var first = Self.submission()
    _ = first.handle(.begin)
    #expect(
      first.handle(.replied(status: 400, errors: ["Invalid test status"])).last
        == .finish(.declined("Invalid test status")))
    #expect(first.refusal == "Invalid test status")
    var repeated = Self.submission()
    _ = repeated.handle(.begin)
    #expect(repeated.handle(.lost("timed out")) == [.finish(.waiting("timed out"))])
    #expect(repeated.handle(.begin) == [.save, .send])
    #expect(repeated.handle(.replied(status: 400, errors: ["Invalid test status"])) == [.finish(.submitted)])
    // A refusal that is about the figures is none of a repeat.
    var wrong = Self.submission()
    _ = wrong.handle(.begin)
    _ = wrong.handle(.lost("timed out"))
    _ = wrong.handle(.begin)
    #expect(wrong.handle(.replied(status: 400, errors: ["Ping invalid"])).last == .finish(.declined("Ping invalid")))
  }

  @Test("A server that was not reached confirms nothing") func unreached() {
    var submission = Self.submission()
    _ = submission.handle(.begin)
    #expect(submission.handle(.unreached("no server")) == [.save, .finish(.waiting("no server"))])
    #expect(!submission.isUnconfirmed)
    _ = submission.handle(.begin)
    #expect(submission.handle(.replied(status: 400, errors: [])).last == .finish(.declined("status 400")))
  }

  @Test("What a proxy answers decides nothing", arguments: [302, 401, 403, 404, 429])
  func proxies(status: Int) {
    var submission = Self.submission()
    _ = submission.handle(.begin)
    #expect(submission.handle(.replied(status: status, errors: [])) == [.save, .finish(.waiting("status \(status)"))])
    #expect(!submission.isUnconfirmed)
  }

  @Test("A failure of the server leaves open whether it has the document", arguments: [408, 500, 503])
  func failures(status: Int) {
    var submission = Self.submission()
    _ = submission.handle(.begin)
    #expect(submission.handle(.replied(status: status, errors: ["E"])) == [.finish(.waiting("E"))])
    #expect(submission.isUnconfirmed)
  }

  @Test("QoS results are looked for before they are sent again") func looking() {
    var submission = Self.submission(.qos)
    #expect(submission.handle(.begin) == [.save, .send])
    _ = submission.handle(.lost("timed out"))
    #expect(submission.handle(.begin) == [.look])
    let unknown = submission.handle(.looked(isThere: nil)).last
    guard case .finish(.waiting) = unknown else {
      Issue.record("the action is \(String(describing: unknown))")
      return
    }
    #expect(submission.handle(.looked(isThere: false)) == [.save, .send])
    #expect(submission.handle(.looked(isThere: true)) == [.finish(.submitted)])
  }

  // MARK: Faults

  /// A control server that stores documents as real ones do: a result once, QoS results as often as they come.
  private struct World {
    var stored = 0
    var random: SeededGenerator

    /// What comes of a request; `nil` when the process is killed meanwhile.
    mutating func send(_ kind: Submission.Kind) -> Submission.Event? {
      switch Int.random(in: 0..<8, using: &random) {
      case 0: return .unreached("no server")
      case 1: return .lost("lost on the way")
      case 2: return nil
      case 3: return .replied(status: 503, errors: [])
      default:
        let isRepeat = kind == .result && stored > 0
        if !isRepeat { stored += 1 }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return .lost("the reply is lost")
        case 1: return nil
        default:
          return isRepeat ? .replied(status: 400, errors: ["Invalid test status"]) : .replied(status: 200, errors: [])
        }
      }
    }
  }

  @Test(
    "Kills at any point, lost replies and outages lose no document and double none", .computing,
    arguments: Submission.Kind.allCases)
  func exactlyOnce(kind: Submission.Kind) throws {
    let seeds = ProcessInfo.processInfo.environment["EDGEBLUE_SEEDS"].flatMap {
      Int($0.split(separator: " ").last ?? "")
    }
    for seed in 1...(seeds ?? 200) {
      var world = World(random: SeededGenerator(seed: UInt64(seed)))
      var file: Submission? = Self.submission(kind)
      for _ in 0..<200 where file != nil { try Self.life(&file, kind, &world) }
      #expect(file == nil, "seed \(seed)")
      #expect(world.stored == 1, "seed \(seed)")
    }
  }

  /// The life of a process, up to its end or its kill.
  private static func life(_ file: inout Submission?, _ kind: Submission.Kind, _ world: inout World) throws {
    guard var submission = file else { return }
    var actions = submission.handle(.begin)
    while !actions.isEmpty {
      if Int.random(in: 0..<10, using: &world.random) == 0 { return }
      switch actions.removeFirst() {
      case .save: file = SubmissionOutbox.decode(try JSONEncoder().encode(submission))
      case .send:
        guard let event = world.send(kind) else { return }
        actions += submission.handle(event)
      case .look:
        let isThere: Bool? = Int.random(in: 0..<3, using: &world.random) == 0 ? nil : world.stored > 0
        actions += submission.handle(.looked(isThere: isThere))
      case .finish(.submitted): file = nil
      case .finish: return
      }
    }
  }

  // MARK: The folder

  @Test("Results are submitted the oldest first, and a server that fails is left for later") func order() async throws {
    let folder = try TemporaryFolder()
    let outbox = SubmissionOutbox(path: folder.path + "/submissions")
    let tests = (0..<3).map { "0000000\($0)-0000-0000-0000-000000000000" }
    for (index, test) in tests.enumerated() {
      try outbox.add(Self.submission(.qos, created: Int64(-index), test: test))
      try outbox.add(Self.submission(.result, created: Int64(-index), test: test))
    }
    let isDown = Lock(true)
    let server = FakeControlServer { _, _ in
      if isDown.withLock({ $0 }) { throw SpeedTestError(.unreachable, "no server") }
      return ControlReply("{}")
    }
    let waiting = try await outbox.submit(by: server)
    #expect(waiting.map(\.outcome) == [.waiting("no server"), nil, nil, nil, nil, nil])
    #expect(try outbox.reports().map(\.test) == tests.reversed().flatMap { [$0, $0] })
    isDown.withLock { $0 = false }
    #expect(try await outbox.submit(by: server, to: "https://another.example").isEmpty)
    let done = try await outbox.submit(by: server)
    #expect(done.allSatisfy { $0.outcome == .submitted })
    #expect(done.map(\.isQoS) == [false, true, false, true, false, true])
    #expect(try outbox.reports().isEmpty)
    #expect(try await outbox.submit(by: server).isEmpty)
  }

  @Test("A reply of a captive portal confirms nothing") func captivePortal() async throws {
    let folder = try TemporaryFolder()
    let outbox = SubmissionOutbox(path: folder.path + "/submissions")
    try outbox.add(Self.submission())
    let portal = FakeControlServer { _, _ in ControlReply("<html>Log in</html>") }
    let outcome = try await outbox.submit(by: portal).first?.outcome
    guard case .waiting = outcome else {
      Issue.record("the outcome is \(String(describing: outcome))")
      return
    }
    #expect(try outbox.reports().count == 1)
  }

  @Test("A refused result stays for the user, and is not sent again") func refusedResults() async throws {
    let folder = try TemporaryFolder()
    let outbox = SubmissionOutbox(path: folder.path + "/submissions")
    try outbox.add(Self.submission())
    let server = FakeControlServer { _, _ in ControlReply(#"{"error":["Download invalid"]}"#, status: 400) }
    #expect(try await outbox.submit(by: server).map(\.outcome) == [.declined("Download invalid")])
    #expect(try await outbox.submit(by: server).isEmpty)
    #expect(try outbox.reports().map(\.outcome) == [.declined("Download invalid")])
    #expect(server.bodies("/result").count == 1)
  }

  @Test("A corrupt file is reported, after the others") func corruptFiles() async throws {
    let folder = try TemporaryFolder()
    let outbox = SubmissionOutbox(path: folder.path)
    try outbox.add(Self.submission())
    try Data("{".utf8).write(to: URL(filePath: folder.path + "/0-result.json"))
    let server = FakeControlServer { _, _ in ControlReply("{}") }
    let error = await #expect(throws: SpeedTestError.self) { try await outbox.submit(by: server) }
    #expect(error?.code == .damagedFile)
    #expect(server.bodies("/result").count == 1)
  }
}
