import Foundation
import Streams

@testable import Coverage

/// A store in a folder of its own, with a wall clock that a test moves.
final class StoreFixture: Sendable {
  static let day: Int64 = 86_400_000
  static let start: Int64 = 1_800_000_000_000

  let folder: TemporaryFolder
  let wall = Lock(start)
  let store: CoverageStore
  static let server = "https://control.example/S"

  init() throws {
    folder = try TemporaryFolder()
    store = try CoverageStore(path: folder.path + "/c.sqlite") { [wall] in wall.withLock { $0 } }
  }

  /// Opens the store as another program does.
  func reopened() throws -> CoverageStore {
    try CoverageStore(path: folder.path + "/c.sqlite") { [wall] in wall.withLock { $0 } }
  }

  /// Returns the store as a program finds it that starts after a kill at this instant.
  func copy() throws -> CoverageStore {
    let path = folder.path + "/copy-\(UUID().uuidString).sqlite"
    for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: store.path + suffix) {
      try FileManager.default.copyItem(atPath: store.path + suffix, toPath: path + suffix)
    }
    return try CoverageStore(path: path) { [wall] in wall.withLock { $0 } }
  }

  func pass(milliseconds: Int64) { wall.withLock { $0 += milliseconds } }

  func run(_ id: String) -> CoverageRunID {
    CoverageRunID(id: id, server: Self.server, startUs: wall.withLock { $0 } * 1000)
  }

  static func fence(_ number: Int, at seconds: Double, ping: Double? = 20) throws -> Fence {
    guard let place = FenceDriver.place(Double(number) * 50) else { throw CoverageError(.invalidArgument, "no place") }
    var fence = Fence(number: number, place: place, radius: 20, entered: .seconds(seconds), technology: .lte)
    fence.exited = .seconds(seconds + 5)
    fence.pings.add(PingResult(at: .seconds(seconds), roundTrip: ping.map { .milliseconds($0) }))
    return fence
  }

  /// Stores a session with fences.
  @discardableResult
  func session(
    _ id: String, uuid: String?, fences: Int = 1, isFinished: Bool = true
  ) throws -> CoverageRunID {
    let run = run(id)
    try store.begin(run)
    if let uuid { try store.apply([.assign(uuid)], of: run, at: .zero) }
    for number in 0..<fences {
      try store.apply([.add(Self.fence(number + 1, at: Double(number) * 10))], of: run, at: .seconds(1))
    }
    if isFinished { try store.apply([.finalise], of: run, at: .seconds(600)) }
    return run
  }

  func sender(_ transport: any CoverageTransport, of other: CoverageStore? = nil) -> CoverageSender {
    CoverageSender(store: other ?? store, server: Self.server, transport: transport) { 1 }
  }

  func uuids() throws -> [String?] { try store.sessions().map(\.uuid) }
}
