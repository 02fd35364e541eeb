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
    if let interface { try Self.check(interface: interface) }
  }

  static func check(interface: String) throws {
    guard (1...15).contains(interface.utf8.count) else {
      throw ValidationError("--interface: a name has 1 to 15 bytes.")
    }
  }

  func run() async throws {
    try await common.run { terminal in
      try sending.insecure.check(["--control": control], terminal)
      let folder = try sending.state.folder()
      let store = try folder.store()
      let server = try sending.control(control, in: folder, acceptsTerms: acceptTerms)
      let monitor = try LocationMonitor(try location.requiredSource)
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
      let parts = CoverageParts(
        store: store, server: server.client.address, transport: server, options: options,
        sources: CoverageSources(monitor, paths, modems))
      let walk = CoverageWalk(parts) { view.show($0) }
      let ending = try await untilInterruptedKeeping { try await walk.run() }
      view.ended(ending)
      guard !noSend, ending != nil else { return }
      try await CoverageSendCommand.send(parts.sender, terminal)
    }
  }
}
