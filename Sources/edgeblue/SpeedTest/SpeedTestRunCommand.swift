import ArgumentParser
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
      interrupted prints what it measured until then. The result is stored; `edgeblue speedtest history` lists all of \
      them. One test runs at a time.

      With --control a control server grants the test, and takes its result.
      """)

  @OptionGroup var client: SpeedTestClientOptions
  @OptionGroup var control: SpeedTestControlOptions
  @Flag(help: "Do not store the result, and do not look whether another test runs.")
  var noStore = false
  @OptionGroup var state: SpeedTestFolderOptions
  @OptionGroup var common: CommonOptions

  func validate() throws { try control.check(client, noStore: noStore) }

  func run() async throws {
    try await common.run { terminal in
      let folder = noStore ? nil : try state.folder()
      let lock = try folder?.lockTest()
      defer { lock?.release() }
      let granted = try await control.granted(client, folder, terminal)
      let record = try await measured(granted, terminal)
      // Before everything else: what is stored here is submitted whatever happens then.
      var keeping: (any Error)?
      do { try await granted?.keep(record) } catch { keeping = error }
      // A full disk takes no figures from a user.
      let stored = Result { try folder?.archive.add(record) }
      var outcome: SubmissionOutcome?
      if let granted, record.result.failure == nil, keeping == nil {
        terminal.whisper("Submitting the result")
        outcome = try await granted.submit()
      }
      show(record, granted, outcome, number: try? stored.get()?.number, terminal)
      if let failure = record.result.failure {
        guard let error = failure.error else { throw CancellationError() }
        throw error
      }
      _ = try stored.get()
      if let keeping { throw keeping }
      if case .declined(let reason) = outcome {
        throw SpeedTestError(.declined, "submit the result: the control server declined: \(reason)")
      }
    }
  }

  /// Runs the test and returns its result, as it is stored.
  private func measured(_ granted: ControlledTest?, _ terminal: Terminal) async throws -> SpeedTestRecord {
    guard let server = granted?.server ?? client.settings?.server else {
      throw ValidationError("Name the server with --server.")
    }
    guard let plan = try granted?.plan(client) ?? client.settings?.plan(),
      let measuring = try granted?.client(client) ?? client.settings?.client()
    else { throw ValidationError("Name the server with --server.") }
    let meter = SpeedTestMeter()
    let view = SpeedTestView(server: server, plan: plan, meter: meter, terminal: terminal)
    let startMs = WallClock.unixMilliseconds()
    let start = ContinuousClock.now
    let report = try await untilInterruptedKeeping {
      try await view.watch { try await measuring.run(plan, meter: meter) }
    }
    let duration = start.duration(to: .now).milliseconds(rounded: .toNearest)
    var record = report.record(server: server, startMs: startMs, durationMs: duration)
    record.control = granted?.reference
    return record
  }

  private func show(
    _ record: SpeedTestRecord, _ granted: ControlledTest?, _ outcome: SubmissionOutcome?, number: Int?,
    _ terminal: Terminal
  ) {
    let report = SpeedTestReport(record)
    if terminal.json {
      var fields = report.json(server: record.server).merging(["number": JSON(number)]) { $1 }
      if let granted {
        fields["control"] = record.control?.json ?? .null
        fields["submission"] = outcome?.json ?? .null
        fields["addresses"] = .list(granted.addresses.map(\.json))
      }
      terminal.print(json: .object(fields))
    }
    for line in SpeedTestTable(report, server: record.server).lines(terminal) { terminal.say(line) }
    if let granted { show(granted, outcome, isComplete: record.result.failure == nil, terminal) }
    if let number { terminal.say("Stored as number \(number).") }
  }

  private func show(
    _ granted: ControlledTest, _ outcome: SubmissionOutcome?, isComplete: Bool, _ terminal: Terminal
  ) {
    terminal.say()
    for address in granted.addresses { terminal.say("IPv\(address.version)       \(address.words)") }
    let words =
      isComplete
      ? outcome?.words ?? "another program submits the result" : "nothing to submit: the test did not finish"
    terminal.say("Control    \(granted.control.address.printable), test \(granted.test.id): \(words.printable)")
    if case .waiting = outcome { terminal.say("`edgeblue speedtest submit` submits it later.") }
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
