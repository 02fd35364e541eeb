import ArgumentParser
import Coverage
import DurableFiles
import NetworkPath
import SystemState
import Uploads

/// The options for the coverage measurement of an agent, with the names that `edgeblue coverage run` has for them.
struct AgentCoverageOptions: ParsableArguments {
  @Flag(
    help: "Measure the coverage of the mobile network, into the folder coverage in that folder (`edgeblue coverage`).")
  var coverage = false
  @Option(
    help: ArgumentHelp("The control server that grants the sessions and takes the results.", valueName: "url"))
  var control: String?
  @Option(
    help: ArgumentHelp(
      "A PEM file with certificates to trust besides the system's, for the control server.", valueName: "file"),
    completion: .file())
  var controlCa: String?
  @Flag(help: "Accept the terms and conditions of the control server.") var acceptTerms = false
  @OptionGroup var location: LocationOptions
  @Option(
    help: ArgumentHelp(
      "The interface that pings must take, such as wwan0. Default: the one of the route.", valueName: "name"))
  var interface: String?
  @Flag(help: "Let the modem measure its signal every 5 s, for the technology. It goes on measuring after the agent.")
  var signal = false
  @Option(
    help: ArgumentHelp(
      "The bucket that finished sessions are queued for as lines of GeoJSON, in the queue of --uploads.",
      valueName: "name"))
  var bucket: String?

  func validate() throws {
    if let interface { try CoverageRunCommand.check(interface: interface) }
    guard coverage else { return }
    guard control != nil else { throw ValidationError("--coverage needs a control server: --control.") }
    guard location.isGiven else {
      throw ValidationError("--coverage needs a source of locations: --gpsd, --geoclue, --track or --place.")
    }
  }

  /// The control server, if there is a measurement.
  var server: String? { coverage ? control : nil }

  /// Returns the measurement; `nil` without one.
  /// - Parameters:
  ///   - state: The state folder of the agent.
  ///   - account: The account that uploads are queued for.
  ///   - path: The network path.
  ///   - loop: The loop of speed tests of the agent, during whose tests no ping counts.
  /// - Throws: ``Failure`` if the place is not on the Earth; an error for an address that is none, or for certificates.
  func measurement(
    in state: String, account: String, _ path: NetworkPathMonitor, beside loop: AgentLoop?, _ terminal: Terminal
  ) throws -> AgentCoverage? {
    guard let server else { return nil }
    let source = try location.requiredSource
    let folder = CoverageFolder(path: state + "/coverage")
    // A mistake in the address or the certificates is told now.
    let control = try folder.control(server, certificates: controlCa, acceptsTerms: acceptTerms)
    return AgentCoverage(terminal) { [self] in
      let store = try folder.store()
      let monitor = try LocationMonitor(source)
      var cellular = CellularMonitor.Options()
      cellular.signalSeconds = signal ? 5 : nil
      let modems = CellularMonitor(cellular)
      var sources = CoverageSources(monitor, path, modems)
      sources.tests = loop?.tests
      var options = CoverageRun.Options()
      options.interface = interface
      options.destination = try destination(in: state, folder, account)
      return CoverageParts(
        store: store, server: control.client.address, transport: control, options: options, sources: sources)
    }
  }

  private func destination(in state: String, _ folder: CoverageFolder, _ account: String) throws -> CoverageUploads? {
    guard let bucket else { return nil }
    let uploads = CoverageUploads(
      store: try QueueStore(in: state), folder: folder.uploads, bucket: bucket, account: account, prefix: "")
    try Disk().createFolder(uploads.folder)
    return uploads
  }
}
