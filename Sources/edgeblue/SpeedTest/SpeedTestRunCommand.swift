import ArgumentParser
import Foundation
import SpeedTest
import SpeedTestNIO
import Timing

/// `edgeblue speedtest run`
struct SpeedTestRunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Run one test (the default).",
    discussion: """
      With --json it prints one object with the rates, the round trips and all raw samples. A test that fails or is \
      interrupted prints what it measured until then.
      """)

  @Option(
    help: ArgumentHelp(
      "The server: HOST or HOST:PORT. Default port: \(SpeedTestCommand.defaultPort).", valueName: "server"))
  var server: ServerAddress
  @Option(help: ArgumentHelp("The number of connections, 1 to 120.", valueName: "n"))
  var threads = 3
  @Option(help: ArgumentHelp("The duration of each direction, 1 to 30 s.", valueName: "s"))
  var seconds = 7
  @Flag(help: "Leave out the upload.")
  var noUpload = false
  @Flag(help: "Use TLS, and verify the server's certificate.")
  var tls = false
  @Option(
    help: ArgumentHelp("A PEM file with certificates to trust besides the system's; with --tls.", valueName: "file"))
  var ca: String?
  @Flag(help: "Accept any certificate; with --tls.")
  var insecure = false
  @Flag(help: "Begin with an HTTP upgrade, as servers of the type RMBThttp require.")
  var http = false
  @Option(
    help: ArgumentHelp(
      "A file with the key that is shared with the server, on its first line. Default: the systemd credential "
        + "speedtest-keys; without it only open servers answer.", valueName: "file"))
  var keyFile: String?
  @Option(
    help: ArgumentHelp(
      "The form of the token: v1, v2 (bound to this machine's address) or combined.", valueName: "form"),
    transform: { text in
      guard let form = SpeedTestTokenForm(rawValue: text) else {
        throw ValidationError("'\(text)' is not a form of a token; allowed: v1, v2 and combined.")
      }
      return form
    })
  var token = SpeedTestTokenForm.v1
  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard SpeedTestPlan.allowedThreads.contains(threads) else {
      throw ValidationError("--threads: allowed are 1 to 120.")
    }
    guard SpeedTestPlan.allowedSeconds.contains(seconds) else {
      throw ValidationError("--seconds: allowed are 1 to 30 s.")
    }
    guard tls || ca == nil && !insecure else { throw ValidationError("--ca and --insecure need --tls.") }
    guard ca == nil || !insecure else { throw ValidationError("--ca and --insecure exclude each other.") }
  }

  func run() async throws {
    try await common.run { terminal in
      let plan = try SpeedTestPlan(threads: threads, seconds: seconds, includesUpload: !noUpload)
      let client = try makeClient()
      let meter = SpeedTestMeter()
      let view = SpeedTestView(server: server.text, plan: plan, meter: meter, terminal: terminal)
      let report = try await untilInterruptedKeeping {
        try await view.watch { try await client.run(plan, meter: meter) }
      }
      show(report, terminal)
      if let failure = report.result.failure {
        guard let error = failure.error else { throw CancellationError() }
        throw error
      }
    }
  }

  private func makeClient() throws -> SpeedTestClient {
    let keyPath = Secret.speedTestKeys.file(keyFile, ProcessInfo.processInfo.environment)
    if let keyPath { SecretText.warnIfReadable(keyPath) }
    var client = SpeedTestClient(
      host: server.host, port: server.port, key: try keyPath.map { try SpeedTestKey.keys(inFile: $0)[0] })
    client.tokenForm = token
    client.usesHTTPUpgrade = http
    if tls { client.transport = insecure ? .unverifiedTLS : .tls(certificates: ca) }
    return client
  }

  private func show(_ report: SpeedTestReport, _ terminal: Terminal) {
    if terminal.json { terminal.print(json: .object(report.json(server: server.text))) }
    for line in SpeedTestTable(report, server: server.text).lines(terminal) { terminal.say(line) }
  }

  /// Runs a test that Ctrl-C and SIGTERM cancel, and returns its result also then: it contains what was measured.
  private func untilInterruptedKeeping(
    _ test: @escaping @Sendable () async throws -> SpeedTestReport
  ) async throws -> SpeedTestReport {
    let running = Task { try await test() }
    let signals = Task {
      do {
        try await untilInterrupted { try await Task.sleep(for: .seconds(86_400), clock: .steady) }
      } catch is CancellationError where !Task.isCancelled {
        running.cancel()
      }
    }
    defer { signals.cancel() }
    return try await running.value
  }
}
