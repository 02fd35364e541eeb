import Coverage
import FoundationEssentials
import JSONValues
import Streams

/// The start of a run, with what waits to be sent.
enum Start {
  /// A network without a server, which notes when it is asked for a session first.
  private final class Nowhere: CoverageTransport {
    private let first = Lock<ContinuousClock.Instant?>(nil)

    var requested: ContinuousClock.Instant? { first.withLock { $0 } }

    func post(_ route: CoverageRoute, members: Data) async throws -> ControlReply {
      if route == .request { first.withLock { $0 = $0 ?? ContinuousClock.now } }
      throw CoverageError(.unreachable, "there is no server")
    }
  }

  private static let server = "https://control.example"

  static func create(_ path: String) throws { _ = try CoverageStore(path: path) }

  static func run(_ path: String) async throws {
    let begin = ContinuousClock.now
    let store = try CoverageStore(path: path)
    let network = Nowhere()
    var options = CoverageRun.Options()
    // As long as everything takes that the start begins.
    options.limit = .seconds(3)
    let run = CoverageRun(
      store: store, server: server, transport: network, surroundings: (.cellular, .lte), options: options)
    _ = try await run.measure()
    guard let requested = network.requested else { throw CoverageError(.unreachable, "no session was requested") }
    let second = ContinuousClock.now
    _ = try await CoverageSender(store: store, server: server, transport: network).send()
    print((requested - begin) / .seconds(1), (ContinuousClock.now - second) / .seconds(1), Usage.peak)
  }
}
