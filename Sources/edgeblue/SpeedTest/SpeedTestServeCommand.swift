import ArgumentParser
import Foundation
import JSONValues
import Logging
import SpeedTest
import SpeedTestNIO
import SystemState
import Timing

/// `edgeblue speedtest serve`
struct SpeedTestServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Serve speed tests to clients, until Ctrl-C.",
    discussion: """
      Clients of the RMBT protocol can use the server, with or without an HTTP upgrade, and browsers can: the page at \
      http://HOST:PORT/ measures from there. The UDP port beside it answers pings.

      Either --open admits everybody who can reach the port, or --key-file names the keys: one on each line, optionally \
      followed by a space and a label. Without both, the systemd credential speedtest-keys is that file.

      Sockets that a service manager has opened for the program (a .socket unit of systemd: one of streams, and at most \
      one of datagrams for pings) take the place of --port, --ping-port and --address.

      EXAMPLES
        edgeblue speedtest serve --open
        edgeblue speedtest serve --key-file speed.keys --port 443 --certificate tls.pem --certificate-key tls.key
      """)

  @Option(
    help: ArgumentHelp(
      "The port, 0 to 65535; 0 selects a free one. Default: \(SpeedTestCommand.defaultPort).", valueName: "port"))
  var port: Int?
  @Option(
    help: ArgumentHelp(
      "The UDP port for pings, 0 to 65535; 0 selects a free one. Default: as --port.", valueName: "port"))
  var pingPort: Int?
  @Option(help: ArgumentHelp("The address to listen on. Default: all addresses.", valueName: "address"))
  var address: String?
  @Flag(help: "Admit every client, whatever its token.")
  var open = false
  @Option(help: ArgumentHelp("The file with the keys of the clients to admit.", valueName: "file"), completion: .file())
  var keyFile: String?
  @Option(
    help: ArgumentHelp("The PEM file with the certificate; it turns TLS on.", valueName: "file"), completion: .file())
  var certificate: String?
  @Option(
    help: ArgumentHelp("The PEM file with the private key of the certificate.", valueName: "file"), completion: .file())
  var certificateKey: String?
  @Option(help: ArgumentHelp("The largest number of connections in all, 1 to 100000.", valueName: "n"))
  var maxConnections = 1000
  @Option(
    help: ArgumentHelp(
      "The largest number of connections from one address, or from one /64 network of IPv6, 1 to 100000.",
      valueName: "n"))
  var maxPerAddress = 128
  @OptionGroup var metrics: MetricsOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    try checkRange(of: "--port", port, 0...65_535)
    try checkRange(of: "--ping-port", pingPort, 0...65_535)
    guard !open || keyFile == nil, open || keyPath != nil else {
      throw ValidationError("Select the clients to admit: either --open or --key-file.")
    }
    guard (certificate == nil) == (certificateKey == nil) else {
      throw ValidationError("--certificate and --certificate-key need each other.")
    }
    guard (1...100_000).contains(maxConnections), (1...100_000).contains(maxPerAddress) else {
      throw ValidationError("--max-connections, --max-per-address: allowed are 1 to 100000.")
    }
  }

  func run() async throws {
    try await common.run { terminal in
      let server = try await SpeedTestServer.start(options(), logger: Logger(label: "edgeblue.speedtest"))
      let text =
        "serving speed tests on port \(server.port)" + (certificate == nil ? "" : " with TLS")
        + (server.pingPort.map { ", pings on UDP port \($0)" } ?? "")
        + (open ? ", to every client" : ", to clients with a key")
      terminal.happened(
        text, "serving", ["port": .number(server.port), "pingPort": JSONValue(server.pingPort)])
      let manager = ServiceManager()
      manager?.notifyReady(text)
      let role = Role {
        while true { try await Task.sleep(for: .seconds(86_400), clock: .steady) }
      } cleanUp: {
        manager?.notifyStopping()
        await server.stop()
        let statistics = server.statistics
        terminal.happened(
          "stopped; connections: \(statistics.accepted) accepted, \(statistics.refused) refused", "stopped",
          ["accepted": .number(statistics.accepted), "refused": .number(statistics.refused)])
      }
      try await runUntilStopped([role] + metrics.server(terminal) { server.statistics.metrics })
    }
  }

  private var keyPath: String? { Secret.speedTestKeys.file(keyFile, ProcessInfo.processInfo.environment) }

  private func options() throws -> SpeedTestServer.Options {
    let keyPath = open ? nil : keyPath
    if let keyPath { SecretText.warnIfReadable(keyPath) }
    let access: SpeedTestServer.Access =
      try keyPath.map { SpeedTestServer.Access.keys(try SpeedTestKey.keys(inFile: $0)) } ?? .open
    let port = port ?? SpeedTestCommand.defaultPort
    var options = SpeedTestServer.Options(address: address, port: port, access: access)
    options.pingPort = pingPort ?? port
    if let sockets = ActivationSockets.take() { try use(sockets, &options) }
    if let certificate, let certificateKey {
      SecretText.warnIfReadable(certificateKey)
      options.certificate = SpeedTestCertificate(certificate: certificate, privateKey: certificateKey)
    }
    options.connectionLimit = maxConnections
    options.connectionsPerAddress = maxPerAddress
    return options
  }

  private func use(_ sockets: ActivationSockets, _ options: inout SpeedTestServer.Options) throws {
    guard sockets.streams.count == 1, sockets.datagrams.count <= 1, sockets.others == 0 else {
      throw Failure(
        "the service manager has opened \(sockets.streams.count) sockets of streams, \(sockets.datagrams.count) of datagrams "
          + "and \(sockets.others) others; allowed: one of streams, and at most one of datagrams", status: .badInput)
    }
    guard port == nil, pingPort == nil, address == nil else {
      throw Failure(
        "the service manager has opened the sockets; --port, --ping-port and --address select nothing",
        status: .badInput)
    }
    options.listeningSocket = sockets.streams.first
    options.pingSocket = sockets.datagrams.first
    options.pingPort = nil
  }
}
