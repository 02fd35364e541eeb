import ArgumentParser
import SpeedTestNIO
import Timing

/// `edgeblue speedtest run`
struct SpeedTestRunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Run one test (the default).",
    discussion: """
      With --json it prints one object with the rates, the round trips and all raw samples. A test that fails or is \
      interrupted prints what it measured until then. The result is stored; `edgeblue speedtest history` lists all of \
      them. One test runs at a time.
      """)

  @OptionGroup var client: SpeedTestClientOptions
  @Flag(help: "Do not store the result, and do not look whether another test runs.")
  var noStore = false
  @OptionGroup var state: SpeedTestFolderOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard client.server != nil else { throw ValidationError("Name the server with --server.") }
  }

  func run() async throws {
    try await common.run { terminal in
      guard let settings = client.settings else { throw ValidationError("Name the server with --server.") }
      let folder = noStore ? nil : try state.folder()
      let lock = try folder?.lockTest()
      defer { lock?.release() }
      let plan = try settings.plan()
      let client = try settings.client()
      let meter = SpeedTestMeter()
      let view = SpeedTestView(server: settings.server, plan: plan, meter: meter, terminal: terminal)
      let startMs = WallClock.unixMilliseconds()
      let start = ContinuousClock.now
      let report = try await untilInterruptedKeeping {
        try await view.watch { try await client.run(plan, meter: meter) }
      }
      let duration = start.duration(to: .now).milliseconds(rounded: .toNearest)
      let record = report.record(server: settings.server, startMs: startMs, durationMs: duration)
      // A full disk takes no figures from a user.
      let stored = Result { try folder?.archive.add(record) }
      show(report, settings.server, number: try? stored.get()?.number, terminal)
      if let failure = report.result.failure {
        guard let error = failure.error else { throw CancellationError() }
        throw error
      }
      _ = try stored.get()
    }
  }

  private func show(_ report: SpeedTestReport, _ server: String, number: Int?, _ terminal: Terminal) {
    if terminal.json {
      let fields = report.json(server: server).merging(["number": JSON(number)]) { $1 }
      terminal.print(json: .object(fields))
    }
    for line in SpeedTestTable(report, server: server).lines(terminal) { terminal.say(line) }
    if let number { terminal.say("Stored as number \(number).") }
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
