import ArgumentParser
import Foundation
import SpeedTest
import SpeedTestNIO

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
  func check(_ client: SpeedTestClientOptions, noStore: Bool) throws {
    guard control != nil else {
      guard !acceptTerms, !qos else { throw ValidationError("--accept-terms and --qos need --control.") }
      guard client.server != nil else { throw ValidationError("Name the server with --server, or use --control.") }
      return try client.checkTLS()
    }
    guard client.server == nil, client.keyFile == nil, client.token == nil else {
      throw ValidationError("--control names the server and the token; it excludes --server, --key-file and --token.")
    }
    guard !client.noUpload, !noStore else {
      throw ValidationError("A control server takes complete and stored results: no --no-upload and no --no-store.")
    }
  }

  /// Requests a test; `nil` without a control server.
  func granted(_ client: SpeedTestClientOptions, _ folder: SpeedTestFolder?, _ terminal: Terminal) async throws
    -> ControlledTest?
  {
    guard let control, let folder else { return nil }
    var insecure = InsecureOptions()
    insecure.insecure = client.insecure
    try insecure.check(["--control": control], terminal)
    let device = ControlDevice.system
    let transport = try ControlHTTPTransport(certificates: client.ca, language: device.language)
    let server = try ControlClient(address: control, transport: transport, device: device, folder: folder.path)
    let acceptsTerms = acceptTerms
    let threads = client.threads
    terminal.whisper("Requesting a test from \(server.address)")
    return try await untilInterrupted {
      let settings = try await server.settings(acceptsTerms: acceptsTerms)
      let addresses = try await server.addresses(settings) { LocalAddress.toward($0) }
      let test = try await server.requestTest(threads: threads)
      if test.wait > .zero { try await Task.sleep(for: test.wait, clock: .steady) }
      return ControlledTest(
        control: server, transport: transport, outbox: folder.outbox, test: test, addresses: addresses)
    }
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
