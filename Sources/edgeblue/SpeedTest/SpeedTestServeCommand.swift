import ArgumentParser
import Foundation
import Logging
import SpeedTest
import SpeedTestNIO
import Timing

/// `edgeblue speedtest serve`
struct SpeedTestServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Serve speed tests to clients, until Ctrl-C.",
    discussion: """
      Clients of the RMBT protocol can use the server, with or without an HTTP upgrade. Either --open admits everybody \
      who can reach the port, or --key-file names the keys: one on each line, optionally followed by a space and a label. \
      Without both, the systemd credential speedtest-keys is that file.

      EXAMPLES
        edgeblue speedtest serve --open
        edgeblue speedtest serve --key-file speed.keys --port 443 --certificate tls.pem --certificate-key tls.key
      """)

  @Option(help: ArgumentHelp("The port, 0 to 65535; 0 selects a free one.", valueName: "port"))
  var port = SpeedTestCommand.defaultPort
  @Option(help: ArgumentHelp("The address to listen on. Default: all addresses.", valueName: "address"))
  var address: String?
  @Flag(help: "Admit every client, whatever its token.")
  var open = false
  @Option(help: ArgumentHelp("The file with the keys of the clients to admit.", valueName: "file"))
  var keyFile: String?
  @Option(help: ArgumentHelp("The PEM file with the certificate; it turns TLS on.", valueName: "file"))
  var certificate: String?
  @Option(help: ArgumentHelp("The PEM file with the private key of the certificate.", valueName: "file"))
  var certificateKey: String?
  @Option(help: ArgumentHelp("The largest number of connections in all, 1 to 100000.", valueName: "n"))
  var maxConnections = 1000
  @Option(help: ArgumentHelp("The largest number of connections from one address, 1 to 100000.", valueName: "n"))
  var maxPerAddress = 128
  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard (0...65_535).contains(port) else { throw ValidationError("--port: allowed are 0 to 65535.") }
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
      terminal.happened(
        "serving speed tests on port \(server.port)" + (certificate == nil ? "" : " with TLS")
          + (open ? ", to every client" : ", to clients with a key"), "serving", ["port": .number(server.port)])
      let role = Role {
        while true { try await Task.sleep(for: .seconds(86_400), clock: .steady) }
      } cleanUp: {
        await server.stop()
        let statistics = server.statistics
        terminal.happened(
          "stopped; connections: \(statistics.accepted) accepted, \(statistics.refused) refused", "stopped",
          ["accepted": .number(statistics.accepted), "refused": .number(statistics.refused)])
      }
      try await runUntilStopped([role])
    }
  }

  private var keyPath: String? { Secret.speedTestKeys.file(keyFile, ProcessInfo.processInfo.environment) }

  private func options() throws -> SpeedTestServer.Options {
    let keyPath = open ? nil : keyPath
    if let keyPath { SecretText.warnIfReadable(keyPath) }
    let access: SpeedTestServer.Access =
      try keyPath.map { SpeedTestServer.Access.keys(try SpeedTestKey.keys(inFile: $0)) } ?? .open
    var options = SpeedTestServer.Options(address: address, port: port, access: access)
    if let certificate, let certificateKey {
      SecretText.warnIfReadable(certificateKey)
      options.certificate = SpeedTestCertificate(certificate: certificate, privateKey: certificateKey)
    }
    options.connectionLimit = maxConnections
    options.connectionsPerAddress = maxPerAddress
    return options
  }
}
