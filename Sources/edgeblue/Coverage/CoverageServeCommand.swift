import Agent
import ArgumentParser
import Coverage
import CoverageHTTP
import Foundation
import Logging
import NIOCore
import ServiceLifecycle
import SpeedTest
import SpeedTestNIO
import SystemState
import Timing

/// `edgeblue coverage serve`
struct CoverageServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "Grant sessions to one's own clients and store their results, until Ctrl-C.",
    discussion: """
      A control server for one's own fleet: POST /coverageRequest grants a session with a token for the server of pings, \
      and POST /coverageResult stores its fences, which are on disk before the response. A repeat of either is answered \
      like the first one. The pings are answered by `edgeblue speedtest serve` with the same keys.

      What was received is drawn and exported by `edgeblue coverage map --received` and \
      `edgeblue coverage export --received`. Addresses of clients are neither stored nor logged.

      EXAMPLES
        edgeblue coverage serve --key-file speed.keys --ping-host ping.example.org
        edgeblue coverage serve --key-file speed.keys --ping-host 192.0.2.7 --host 0.0.0.0 \\
          --certificate tls.pem --certificate-key tls.key
      """)

  @Option(help: ArgumentHelp("The address to listen on.", valueName: "address")) var host = "127.0.0.1"
  @Option(help: ArgumentHelp("The port to listen on, 0 to 65535; 0 selects a free one.", valueName: "port"))
  var port = 5280
  @Option(help: ArgumentHelp("The name or address of the server of pings, as clients reach it.", valueName: "host"))
  var pingHost: String
  @Option(help: ArgumentHelp("The UDP port of the server of pings, 1 to 65535.", valueName: "port"))
  var pingPort = SpeedTestCommand.defaultPort
  @Option(help: ArgumentHelp("The file with the keys of the server of pings.", valueName: "file"), completion: .file())
  var keyFile: String?
  @Option(help: ArgumentHelp("The time for which a session may be used, 1 to 240 minutes.", valueName: "minutes"))
  var window = 240
  @Option(
    help: ArgumentHelp("A PEM file with the certificate chain; required off the loopback.", valueName: "file"),
    completion: .file())
  var certificate: String?
  @Option(
    help: ArgumentHelp("A PEM file with the private key of the certificate.", valueName: "file"), completion: .file())
  var certificateKey: String?
  @OptionGroup var state: CoverageFolderOptions
  @OptionGroup var metrics: MetricsOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    try checkRange(of: "--port", port, 0...65_535)
    try checkRange(of: "--ping-port", pingPort, 1...65_535)
    try checkRange(of: "--window", window, 1...240, unit: "minutes")
    guard PingTarget(host: pingHost, port: pingPort, token: [UInt8](repeating: 0, count: PingTarget.tokenSize)) != nil
    else { throw ValidationError("--ping-host: a name or an address has 1 to 255 plain characters.") }
    guard (certificate == nil) == (certificateKey == nil) else {
      throw ValidationError("--certificate and --certificate-key need each other.")
    }
    guard certificate != nil || ["127.0.0.1", "::1", "localhost"].contains(host) else {
      throw ValidationError("--host \(host) requires --certificate and --certificate-key.")
    }
    guard keyPath != nil else { throw ValidationError("Name the keys of the server of pings: --key-file.") }
  }

  func run() async throws {
    try await common.run { terminal in
      let options = options
      // First, so that a mistake leaves no folder behind.
      try options.checkCertificate()
      let token = try token()
      if let certificateKey { SecretText.warnIfReadable(certificateKey) }
      let archive = try state.folder().archive()
      var answers = CoverageService.Options(pings: .init(host: pingHost, port: pingPort))
      answers.window = .seconds(60 * window)
      let service = CoverageService(archive: archive, options: answers, token: token)
      let server = CoverageServer(service, options: options, logger: Logger(label: "edgeblue.coverage")) { port in
        terminal.happened("serving coverage on port \(port)", "serving", ["port": .number(port)])
        ServiceManager()?.notifyReady("serving coverage on port \(port)")
      }
      let role = Role {
        while true { try await Task.sleep(for: .seconds(86_400), clock: .steady) }
      } cleanUp: {
        let counts = try archive.counts()
        terminal.happened(
          "stopped; sessions: \(counts.granted) granted, \(counts.received) received", "stopped",
          ["granted": .number(counts.granted), "received": .number(counts.received)])
      }
      try await runUntilStopped([role, server] + metrics.server(terminal) { server.counts.metrics })
    }
  }

  private var keyPath: String? { Secret.speedTestKeys.file(keyFile, ProcessInfo.processInfo.environment) }

  private var options: CoverageServer.Options {
    var options = CoverageServer.Options(port: port)
    options.address = host
    if let certificate, let certificateKey { options.certificate = (certificate, certificateKey) }
    return options
  }

  /// Returns the function that makes the tokens of clients, with the first key of the server of pings.
  private func token() throws -> @Sendable (String) -> [UInt8]? {
    guard let keyPath else { throw Failure("no keys of the server of pings are named", status: .badInput) }
    SecretText.warnIfReadable(keyPath)
    let key = try SpeedTestKey.keys(inFile: keyPath)[0]
    return { address in
      // A text that is no address has no token, and is refused.
      guard let bytes = Sockets.bytes(of: try? SocketAddress(ipAddress: address, port: 0)) else { return nil }
      let seconds = WallClock.unixMilliseconds() / 1000
      let token = SpeedTestToken.make(.v2, key: key, uuid: UUID(), seconds: seconds, address: bytes)
      return Data(base64Encoded: token).map(Array.init)
    }
  }
}

extension CoverageServer.Counts {
  /// The counts for Prometheus.
  fileprivate var metrics: [Metric] {
    let results = [("answered", answered), ("refused", refused), ("failed", failed)]
    return [
      Metric(
        "edgeblue_coverage_requests_total", .counter, "Requests to the control server for coverage, by result.",
        results.map { .init(Double($0.1), ["result": $0.0]) })
    ]
  }
}
