import ArgumentParser
import Coverage
import Foundation
import NetworkPath
import SystemState

/// `edgeblue coverage run`
struct CoverageRunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Measure until Ctrl-C, and send what was measured.",
    discussion: """
      The run begins with the first location whose error is known and at most 15 m, and not over Wi-Fi. It ends with \
      Ctrl-C or SIGTERM, after --minutes, at the limit of the control server, after 4 hours, or when no precise location \
      has come for 30 minutes. Without a network it goes on; a session is requested when the network is back.

      ModemManager tells the technology of the network that packets take. Without it, and over a cable to a modem of its \
      own, the technology is unknown, and is not sent. A place without any reply has no coverage. What is measured over \
      Wi-Fi does not count.

      With --json there is one object on each line.
      """)

  @Option(
    help: ArgumentHelp("The control server that grants the sessions and takes the results.", valueName: "url"))
  var control: String
  @Flag(help: "Accept the terms and conditions of the control server.") var acceptTerms = false
  @OptionGroup var location: LocationOptions
  @Option(
    help: ArgumentHelp(
      "The interface that pings must take, such as wwan0. Default: the one of the route.",
      valueName: "name"))
  var interface: String?
  @Option(help: ArgumentHelp("The time after which the run ends, 1 to 240 minutes.", valueName: "n"))
  var minutes = 240
  @Flag(help: "Let the modem measure its signal every 5 s, and show it. It goes on measuring after the run.")
  var signal = false
  @Flag(help: "Leave what was measured for `edgeblue coverage send`.") var noSend = false
  @OptionGroup var sending: CoverageSendingOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    try checkRange(of: "--minutes", minutes, 1...240, unit: "minutes")
    guard location.isGiven else {
      throw ValidationError("Name the source of locations: --gpsd, --geoclue, --track or --place.")
    }
    guard interface.map({ (1...15).contains($0.utf8.count) }) ?? true else {
      throw ValidationError("--interface: a name has 1 to 15 bytes.")
    }
  }

  func run() async throws {
    try await common.run { terminal in
      try sending.insecure.check(["--control": control], terminal)
      let folder = try sending.state.folder()
      let store = try folder.store()
      let server = try sending.control(control, in: folder, acceptsTerms: acceptTerms)
      guard let source = location.location?.source else {
        throw Failure(
          "the place is not on the Earth; allowed: a latitude of −90° to 90° and a longitude of −180° to 180°",
          status: .badInput)
      }
      let monitor = try LocationMonitor(source)
      defer { monitor.close() }
      let paths = try await NetworkPathMonitor.start()
      var cellularOptions = CellularMonitor.Options()
      cellularOptions.signalSeconds = signal ? 5 : nil
      let modems = CellularMonitor(cellularOptions)
      defer { modems.close() }
      let view = CoverageView(terminal: terminal)
      var options = CoverageRun.Options()
      options.interface = interface
      options.limit = .seconds(60 * minutes)
      options.destination = try sending.uploads.destination(in: folder)
      let session = CoverageWalk(
        store: store, server: server, options: options, monitor: monitor, modems: modems, paths: paths, view: view)
      let ending = try await untilInterruptedKeeping { try await session.run() }
      view.ended(ending)
      guard !noSend, ending != nil else { return }
      let sender = CoverageSender(
        store: store, server: server.client.address, transport: server, destination: options.destination)
      try await CoverageSendCommand.send(sender, terminal)
    }
  }
}

/// A run with the sources of its events.
struct CoverageWalk: Sendable {
  let store: CoverageStore
  let server: CoverageControl
  let options: CoverageRun.Options
  let monitor: LocationMonitor
  let modems: CellularMonitor
  let paths: NetworkPathMonitor
  let view: CoverageView

  /// Waits until a run can start, and measures until the task is cancelled.
  /// - Returns: How the run has ended; `nil` if it was cancelled before its start.
  func run() async throws -> CoverageEnding? {
    guard await start() else { return nil }
    let run = CoverageRun(
      store: store, server: server.client.address, transport: server,
      surroundings: (network(paths.path), technology(paths.path, modems.newest)), options: options)
    view.started()
    return try await withThrowingTaskGroup(of: CoverageEnding?.self) { group in
      group.addTask { try await run.measure() }
      group.addTask {
        for await update in monitor.updates(limit: 64) { follow(update, run) }
        return nil
      }
      group.addTask {
        for await update in paths.updates() {
          run.take(.network(network(update.path)))
          run.take(.technology(technology(update.path, modems.newest)))
        }
        return nil
      }
      group.addTask {
        for await update in modems.updates() {
          view.show(modem(paths.path, update), among: update)
          run.take(.technology(technology(paths.path, update)))
        }
        return nil
      }
      group.addTask {
        for await status in run.updates() { view.show(status) }
        return nil
      }
      defer { group.cancelAll() }
      for try await ending in group { if let ending { return ending } }
      return nil
    }
  }

  /// - Returns: `false` if the task was cancelled, or the track has ended, before.
  private func start() async -> Bool {
    for await update in monitor.updates(limit: 64) {
      if case .ended = update { return false }
      if case .unavailable(let error) = update { view.waits(for: error.message) }
      var location: CoverageLocation?
      if case .fix(let fix) = update { location = CoverageLocation(fix) }
      guard let obstacle = FenceRules.obstacle(at: location, over: network(paths.path)) else { return true }
      view.waits(for: obstacle.words)
    }
    return false
  }

  private func follow(_ update: LocationUpdate, _ run: CoverageRun) {
    if case .fix(let fix) = update {
      run.take(.location(CoverageLocation(fix)))
    } else {
      run.take(.locationLost)
    }
  }

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
    let isCellular = options.interface.map { $0 == used?.name } ?? true && used?.kind == .cellular
    return update?.modem(of: options.interface ?? used?.name, isCellular: isCellular)
  }

  private func technology(_ path: PathSnapshot, _ update: CellularUpdate?) -> CoverageTechnology {
    let used = network(path)
    return used == .none ? .none : CoverageTechnology(modem(path, update))
  }

  private var isLocal: Bool {
    let host = URL(string: server.client.address)?.host() ?? ""
    return ["localhost", "127.0.0.1", "::1"].contains(host)
  }
}

extension CoverageLocation {
  init(_ fix: LocationFix) {
    self.init(fix.place, accuracy: fix.error, altitude: fix.altitude, bearing: fix.course, speed: fix.speed)
  }
}

extension FenceRules.Obstacle {
  fileprivate var words: String {
    switch self {
    case .noLocation: "there is no location yet"
    case .imprecise: "the error of the location is unknown, or more than 15 m"
    case .wifi: "packets go over Wi-Fi, which is not measured"
    }
  }
}
