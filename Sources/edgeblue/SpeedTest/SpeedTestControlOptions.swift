import ArgumentParser
import Foundation
import SpeedTest

/// The options of a test that a control server grants.
struct SpeedTestControlOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The control server that grants the test, names the measurement server and takes the result; without a path "
        + "\(ControlClient.defaultPath) is added.", valueName: "url"))
  var control: String?
  @Flag(help: "Accept the terms and conditions of the control server; with --control.")
  var acceptTerms = false
  @Flag(
    help: """
      Run the quality-of-service tests that the control server requests, too: they connect to the hosts and resolvers that \
      it names, also to those of this network; with --control.
      """)
  var qos = false

  /// Checks the options beside those of the client.
  func check(_ client: SpeedTestClientOptions, noStore: Bool = false) throws {
    guard control != nil else {
      guard !acceptTerms, !qos else { throw ValidationError("--accept-terms and --qos need --control.") }
      return try client.checkTLS()
    }
    guard client.server == nil, client.keyFile == nil, client.token == nil else {
      throw ValidationError("--control names the server and the token; it excludes --server, --key-file and --token.")
    }
    guard !client.noUpload, !noStore else {
      throw ValidationError("A control server takes complete and stored results: no --no-upload and no --no-store.")
    }
  }

  /// The settings of a test of the control server or of the server that the user has named; `nil` without either.
  func settings(_ client: SpeedTestClientOptions) -> SpeedTestSettings? {
    let source: SpeedTestSettings.Source? =
      if let control {
        .control(url: control, runsQoS: qos)
      } else {
        client.server.map { .server(host: $0.host, port: $0.port) }
      }
    return source.map(client.settings)
  }

  /// Checks that a token for the control server is not readable in the network, unless the user permits that.
  func checkEncryption(_ client: SpeedTestClientOptions, _ terminal: Terminal) throws {
    var insecure = InsecureOptions()
    insecure.insecure = client.insecure
    try insecure.check(["--control": control], terminal)
  }
}

extension ControlDevice {
  /// The description of this machine.
  static var system: ControlDevice {
    var name = utsname()
    uname(&name)
    func text(_ field: some Any) -> String {
      withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
    return ControlDevice(
      osVersion: "\(text(name.sysname)) \(text(name.release))", model: text(name.machine),
      language: ProcessInfo.processInfo.environment["LANG"] ?? "", timezone: TimeZone.current.identifier,
      softwareVersion: EdgeBlueVersion.current)
  }
}
