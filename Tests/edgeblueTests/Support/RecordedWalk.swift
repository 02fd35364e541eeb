import Foundation
import SystemTesting
import Testing

/// A recorded walk that gpsd plays to a run, through a hole in the coverage, and what the command makes of it.
struct RecordedWalk {
  struct Fence: Decodable {
    var enteredMs: Int64
    var leftMs: Int64
    var answered: Int
    var lost: Int
    var covered: Bool
  }

  struct Session: Decodable {
    var session: String
    var places: [Fence]
  }

  private struct Hole: Decodable {
    var firstMs: Int64
    var lastMs: Int64
  }

  private static let peers = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Peers")
  private static let python = "/usr/bin/python3"
  private static let namespaces = ["--net", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc"]

  /// Whether there is a gpsd, with a player of tracks that finds its libraries.
  static let hasReceiver: Bool = {
    guard ChildProcess.path(of: "gpsd") != nil, let player = ChildProcess.path(of: "gpsfake") else { return false }
    return succeeds(python, [player, "--version"])
  }()

  /// Whether this user may make networks in which packets are dropped.
  static let isPermitted =
    ["ip", "nsenter", "openssl"].allSatisfy { ChildProcess.path(of: $0) != nil }
    && succeeds("unshare", namespaces + ["ip", "rule", "add", "from", "192.0.2.1", "blackhole"])

  private static func succeeds(_ program: String, _ words: [String]) -> Bool {
    // One that cannot be started has not succeeded.
    (try? ChildProcess(program, words, output: .discarded, errors: .discarded).wait()) == 0
  }

  private let folder: String
  private let hole: Hole
  /// The sessions, in the order of the walk.
  let sessions: [Session]

  var fences: [Fence] { sessions.flatMap(\.places) }
  /// The fences that were left before the hole.
  var before: [Fence] { fences.filter { $0.leftMs <= hole.firstMs } }
  /// The fences that were entered and left in the hole.
  var inside: [Fence] { fences.filter { $0.enteredMs > hole.firstMs && $0.leftMs < hole.lastMs } }
  /// The fences that were entered after the hole.
  var after: [Fence] { fences.filter { $0.enteredMs >= hole.lastMs } }

  /// Walks, draws and sends.
  /// - Parameters:
  ///   - program: The command.
  ///   - hole: The numbers of the sentences of the track at which the hole begins and ends.
  ///   - folder: The folder for what the command prints and writes.
  init(_ program: String, hole: (Int, Int), in folder: String) async throws {
    let script = [Self.python, Self.peers.appending(path: "coverage_walk.py").path, program]
    let track = Self.peers.appending(path: "walk.nmea").path
    let process = try ChildProcess(
      "unshare", Self.namespaces + script + [track, "\(hole.0)", "\(hole.1)", folder], errors: .kept)
    let outcome = try await within(.seconds(240), "a recorded walk") { await process.outcome() }
    try #require(outcome.status == 0, "\(outcome.errors)")
    self.folder = folder
    self.hole = try JSONDecoder().decode(Hole.self, from: Data(outcome.output.utf8))
    sessions = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("show-") }.sorted()
      .map { try JSONDecoder().decode(Session.self, from: Data(contentsOf: URL(filePath: "\(folder)/\($0)"))) }
  }

  func text(_ name: String) throws -> String { try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8) }

  /// The fences that were sent, as what the first and the second attempt printed; the second one sends nothing.
  func reports(ofAttempt number: Int) throws -> [String] {
    try text("send-\(number).jsonl").split(separator: "\n").map {
      "\(field("fences", of: $0) ?? "no") fences \(field("state", of: $0) ?? "lost")"
    }
  }

  /// The colours of the circles of the picture, in the order of time.
  func coloursOfPicture() throws -> [String] {
    try text("walk.svg").matches(of: /fill="#([0-9A-F]{6})" fill-opacity="0.5"/).map { String($0.1) }
  }

  /// The colours of the fences of the page, in the order of time, as its script finds them.
  func coloursOfPage() throws -> [String] {
    struct Page: Decodable {
      var technologies: [[String]]
      var fences: [Int]
    }
    let page = try text("walk.html")
    let match = try #require(page.firstMatch(of: /id="data">(.*)\n?<\/script>/))
    let data = try JSONDecoder().decode(Page.self, from: Data(match.1.utf8))
    let fieldCount = 13
    return stride(from: 0, to: data.fences.count, by: fieldCount).map { fence in
      let isUncovered = data.fences[fence + 8] & 2 != 0
      return isUncovered ? "A0A0A0" : data.technologies[data.fences[fence + 7]][1]
    }
  }

  /// The fences that the server has, each with its session, its number and whether it has a ping.
  func received(_ program: String) async throws -> [String] {
    let words = ["coverage", "export", "--received", "--format", "csv", "--state", folder + "/server"]
    let outcome = try await ChildProcess(program, words, errors: .kept).outcome()
    try #require(outcome.status == 0, "\(outcome.errors)")
    return outcome.output.split(separator: "\r\n").dropFirst().map { line in
      let columns = line.split(separator: ",", omittingEmptySubsequences: false)
      return "\(columns[1]) \(columns[2]) \(columns[13].isEmpty ? "without" : "with") a ping"
    }
  }

  /// The fences that the server should have.
  var expected: [String] {
    sessions.flatMap { session in
      session.places.enumerated().map { place in
        "\(session.session) \(place.offset + 1) \(place.element.answered == 0 ? "without" : "with") a ping"
      }
    }
  }
}
