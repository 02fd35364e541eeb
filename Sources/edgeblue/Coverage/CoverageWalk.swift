import Coverage
import Foundation
import NetworkPath
import Streams
import SystemState

/// What happens to a walk, for those who look.
enum CoverageNews: Sendable {
  /// Something keeps the run from its start, in words.
  case waits(String)
  /// The run has started.
  case started
  /// The modem that pings take, if any, among those of the host.
  case modem(CellularModem?, CellularUpdate)
  /// The figures of the run, once a second and at its end.
  case status(CoverageStatus)
  /// The reason for which nothing counts at present, before and during the run; `nil` if it does.
  case obstacle(CoverageObstacle?)
  /// The error of the source of locations in words; `nil` while it works.
  case source(String?)
}

/// A reason for which nothing of a walk counts.
enum CoverageObstacle: String, Sendable, Hashable, CaseIterable {
  /// There is no location.
  case noLocation
  /// The error of the location is unknown, or more than 15 m.
  case imprecise
  /// Packets go over Wi-Fi, which is not measured.
  case wifi
  /// A speed test of the same program fills the line.
  case speedTest

  /// The reason in words.
  var words: String {
    switch self {
    case .noLocation: "there is no location yet"
    case .imprecise: "the error of the location is unknown, or more than 15 m"
    case .wifi: "packets go over Wi-Fi, which is not measured"
    case .speedTest: "a speed test fills the line"
    }
  }
}

/// The sources of the events of walks: locations, the network, and modems.
struct CoverageSources: Sendable {
  let locations: @Sendable () -> BoundedStream<LocationUpdate>
  let path: @Sendable () -> PathSnapshot
  let paths: @Sendable () -> BoundedStream<PathUpdate>
  let modem: @Sendable () -> CellularUpdate?
  let modems: @Sendable () -> BoundedStream<CellularUpdate>
  /// Ends the sources that are of these walks alone.
  var close: @Sendable () -> Void = {}
  /// Whether a speed test of this program runs; `nil` if it runs none at any time.
  var tests: UpdateFeed<Bool>?
}

extension CoverageSources {
  init(_ monitor: LocationMonitor, _ paths: NetworkPathMonitor, _ modems: CellularMonitor) {
    self.init(
      locations: { monitor.updates(limit: 64) }, path: { paths.path }, paths: { paths.updates() },
      modem: { modems.newest }, modems: { modems.updates() },
      close: {
        monitor.close()
        modems.close()
      })
  }
}

/// The parts of walks: where they store, the control server, and the sources of their events.
struct CoverageParts: Sendable {
  let store: CoverageStore
  /// The address of the control server.
  let server: String
  let transport: any CoverageTransport
  var options: CoverageRun.Options
  let sources: CoverageSources

  /// The sender of what was stored.
  var sender: CoverageSender {
    CoverageSender(store: store, server: server, transport: transport, destination: options.destination)
  }
}

/// A run with the sources of its events.
final class CoverageWalk: Sendable {
  private struct Place {
    var newest: CoverageLocation?
    /// `true` while a speed test fills the line.
    var isTesting = false
  }

  /// What has ended of a run.
  private enum Part: Sendable {
    case run(CoverageEnding)
    case locations
    case other
  }

  private let parts: CoverageParts
  /// `true` if the walk ends with the track that it replays.
  private let endsWithTrack: Bool
  private let tell: @Sendable (CoverageNews) -> Void
  private let place = Lock(Place())

  private var sources: CoverageSources { parts.sources }

  init(_ parts: CoverageParts, endsWithTrack: Bool = false, tell: @escaping @Sendable (CoverageNews) -> Void) {
    self.parts = parts
    self.endsWithTrack = endsWithTrack
    self.tell = tell
  }

  /// Waits until a run can start, and measures until the task is cancelled. A walk runs once.
  /// - Returns: How the run has ended; `nil` if it was cancelled, or the track had ended, before its start.
  func run() async throws -> CoverageEnding? {
    guard await start() else { return nil }
    let run = CoverageRun(
      store: parts.store, server: parts.server, transport: parts.transport,
      surroundings: (network(sources.path()), technology(sources.path(), sources.modem())), options: parts.options)
    place.withLock { $0.isTesting = sources.tests?.newest ?? false }
    tell(.started)
    let ending = try await measure(run)
    // A task of its own, because a cancelled one reads nothing: the figures of the end.
    await Task { for await status in run.updates(limit: 1) { tell(.status(status)) } }.value
    return ending
  }

  private func measure(_ run: CoverageRun) async throws -> CoverageEnding? {
    try await withThrowingTaskGroup(of: Part.self) { group in
      group.addTask { .run(try await run.measure()) }
      group.addTask { [self] in
        await follow(sources.locations(), run)
        return endsWithTrack ? .locations : .other
      }
      group.addTask { [self] in
        await followNetwork(run)
        return .other
      }
      group.addTask { [self] in
        await followModems(run)
        return .other
      }
      group.addTask { [self] in
        for await status in run.updates() { tell(.status(status)) }
        return .other
      }
      if let tests = sources.tests {
        group.addTask { [self] in
          for await isTesting in tests.updates(limit: 4) { hold(isTesting, run) }
          return .other
        }
      }
      defer { group.cancelAll() }
      for try await part in group {
        switch part {
        case .run(let ending): return ending
        case .locations: group.cancelAll()
        case .other: break
        }
      }
      return nil
    }
  }

  /// - Returns: `false` if the task was cancelled, or the track has ended, before.
  private func start() async -> Bool {
    for await update in sources.locations() {
      if case .ended = update { return false }
      note(update)
      guard let obstacle else { return true }
      if case .unavailable(let error) = update { tell(.waits(error.message)) } else { tell(.waits(obstacle.words)) }
    }
    return false
  }

  // MARK: Events

  private func follow(_ updates: BoundedStream<LocationUpdate>, _ run: CoverageRun) async {
    for await update in updates {
      note(update)
      let place = place.withLock { $0 }
      if let newest = place.newest, !place.isTesting {
        run.take(.location(newest))
      } else {
        run.take(.locationLost)
      }
      if endsWithTrack, case .ended = update { return }
    }
  }

  private func followNetwork(_ run: CoverageRun) async {
    for await update in sources.paths() {
      run.take(.network(network(update.path)))
      run.take(.technology(technology(update.path, sources.modem())))
      tell(.obstacle(obstacle))
    }
  }

  private func followModems(_ run: CoverageRun) async {
    for await update in sources.modems() {
      tell(.modem(modem(sources.path(), update), update))
      run.take(.technology(technology(sources.path(), update)))
    }
  }

  private func note(_ update: LocationUpdate) {
    var location: CoverageLocation?
    var problem: String?
    switch update {
    case .fix(let fix): location = CoverageLocation(fix)
    case .unavailable(let error): problem = error.message
    case .searching, .ended: break
    }
    place.withLock { $0.newest = location }
    tell(.source(problem))
    tell(.obstacle(obstacle))
  }

  /// Lets pings belong to no place while a speed test fills the line: they would measure the test.
  private func hold(_ isTesting: Bool, _ run: CoverageRun) {
    let newest = place.withLock { place in
      place.isTesting = isTesting
      return place.newest
    }
    if let newest, !isTesting { run.take(.location(newest)) } else { run.take(.locationLost) }
    tell(.obstacle(obstacle))
  }

  private var obstacle: CoverageObstacle? {
    let place = place.withLock { $0 }
    switch FenceRules.obstacle(at: place.newest, over: network(sources.path())) {
    case .noLocation: return .noLocation
    case .imprecise: return .imprecise
    case .wifi: return .wifi
    case nil: return place.isTesting ? .speedTest : nil
    }
  }

  // MARK: The network

  /// The kind of network; without a default route there is none, unless the server is this machine.
  private func network(_ path: PathSnapshot) -> CoverageNetwork {
    switch path.interfaces.first?.kind {
    case .wifi: .wifi
    case .cellular: .cellular
    case nil where !isLocal: .none
    default: path.status == .satisfied || isLocal ? .unknown : .none
    }
  }

  /// The modem that pings take; `nil` if they take none that ModemManager knows.
  private func modem(_ path: PathSnapshot, _ update: CellularUpdate?) -> CellularModem? {
    let used = path.interfaces.first
    let interface = parts.options.interface
    let isCellular = interface.map { $0 == used?.name } ?? true && used?.kind == .cellular
    return update?.modem(of: interface ?? used?.name, isCellular: isCellular)
  }

  private func technology(_ path: PathSnapshot, _ update: CellularUpdate?) -> CoverageTechnology {
    let used = network(path)
    return used == .none ? .none : CoverageTechnology(modem(path, update))
  }

  private var isLocal: Bool {
    let host = URL(string: parts.server)?.host() ?? ""
    return ["localhost", "127.0.0.1", "::1"].contains(host)
  }
}

extension CoverageLocation {
  init(_ fix: LocationFix) {
    self.init(fix.place, accuracy: fix.error, altitude: fix.altitude, bearing: fix.course, speed: fix.speed)
  }
}
