import ArgumentParser
import JSONValues
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
  @OptionGroup var location: LocationOptions
  @Flag(help: "Do not store the result, and do not look whether another test runs.")
  var noStore = false
  @OptionGroup var state: SpeedTestFolderOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    try control.check(client, noStore: noStore)
    guard client.server != nil || control.control != nil else {
      throw ValidationError("Name the server with --server, or use --control.")
    }
  }

  func run() async throws {
    try await common.run { terminal in
      let folder = noStore ? nil : try state.folder()
      let lock = try folder?.lockTest()
      defer { lock?.release() }
      guard let settings = control.settings(client) else { throw ValidationError("Name the server with --server.") }
      let prepared = try settings.prepared(try await granted(settings, folder, terminal))
      let granted = prepared.granted
      var report = Report(record: try await measured(prepared, terminal))
      // A full disk takes no figures from a user: what goes wrong from here on is shown beside them.
      var problem: (any Error)?
      do {
        try await finish(&report, folder, granted, terminal)
      } catch {
        problem = error
      }
      show(report, granted, terminal)
      if let failure = report.record.result.failure {
        guard let error = failure.error else { throw CancellationError() }
        throw error
      }
      if let problem { throw problem }
      for case .declined(let reason) in [report.submission, report.qosSubmission] {
        throw SpeedTestError(.declined, "submit the result: the control server declined: \(reason)")
      }
    }
  }

  /// The result of a test, and what has become of it.
  private struct Report {
    var record: SpeedTestRecord
    /// The outcome of the submission; `nil` if there was none, or another program submits the result.
    var submission: SubmissionOutcome?
    /// The outcome of the submission of the results of QoS tests.
    var qosSubmission: SubmissionOutcome?
  }

  /// Requests a test; `nil` without a control server.
  private func granted(
    _ settings: SpeedTestSettings, _ folder: SpeedTestFolder?, _ terminal: Terminal
  ) async throws -> ControlledTest? {
    try control.checkEncryption(client, terminal)
    guard let folder, let server = try settings.controlServer(folder) else { return nil }
    terminal.whisper("Requesting a test from \(server.client.address)")
    return try await untilInterrupted { [control] in
      try await server.request(settings, acceptsTerms: control.acceptTerms)
    }
  }

  /// Stores and submits a result; then runs, stores and submits the quality-of-service tests.
  private func finish(
    _ report: inout Report, _ folder: SpeedTestFolder?, _ granted: ControlledTest?, _ terminal: Terminal
  ) async throws {
    // Before everything else: what is stored here is submitted whatever happens then.
    try await granted?.keep(report.record)
    if let stored = try folder?.archive.add(report.record) { report.record = stored }
    guard let granted, report.record.result.failure == nil else { return }
    terminal.whisper("Submitting the result")
    report.submission = try await submission(of: granted)
    guard control.qos else { return }
    report.record.qos = try await untilInterrupted {
      try await granted.qualityTests { plan in
        terminal.whisper("Running \(plan.count) quality-of-service tests")
        guard !plan.unknownKinds.isEmpty else { return }
        terminal.whisper("Left out: tests of the unknown kinds \(plan.unknownKinds.joined(separator: ", "))")
      }
    }
    try folder?.archive.replace(report.record)
    report.qosSubmission = try await submission(of: granted)
  }

  private func submission(of granted: ControlledTest) async throws -> SubmissionOutcome? {
    do {
      return try await untilInterrupted { try await granted.submit() }
    } catch is CancellationError {
      return .waiting("interrupted")
    }
  }

  /// Runs the test and returns its result, as it is stored.
  private func measured(_ test: PreparedTest, _ terminal: Terminal) async throws -> SpeedTestRecord {
    let meter = SpeedTestMeter()
    let view = SpeedTestView(server: test.server, plan: test.plan, meter: meter, terminal: terminal)
    let startMs = WallClock.unixMilliseconds()
    let start = ContinuousClock.now
    let locations = try TestLocations(location.location)
    let report = try await untilInterruptedKeeping {
      try await view.watch { try await test.client.run(test.plan, meter: meter) }
    }
    let duration = start.duration(to: .now).milliseconds(rounded: .toNearest)
    var record = report.record(server: test.server, startMs: startMs, durationMs: duration)
    record.control = test.granted?.reference
    record.locations = await locations?.end()
    return record
  }

  private func show(_ report: Report, _ granted: ControlledTest?, _ terminal: Terminal) {
    let record = report.record
    let number = record.number > 0 ? record.number : nil
    let table = SpeedTestReport(record)
    if terminal.json {
      var fields = table.json(server: record.server).merging(["number": JSONValue(number)]) { $1 }
      if let granted {
        fields["control"] = record.control?.json ?? .null
        fields["submission"] = report.submission?.json ?? .null
        fields["qos"] = record.qos?.json ?? .null
        fields["qosSubmission"] = report.qosSubmission?.json ?? .null
        fields["addresses"] = .array(granted.addresses.map(\.json))
      }
      terminal.print(json: .object(fields))
    }
    for line in SpeedTestTable(table, server: record.server, qos: record.qos).lines(terminal) { terminal.say(line) }
    if let granted { show(report, at: granted, terminal) }
    if let number { terminal.say("Stored as number \(number).") }
  }

  private func show(_ report: Report, at granted: ControlledTest, _ terminal: Terminal) {
    terminal.say()
    for address in granted.addresses { terminal.say("IPv\(address.version)       \(address.words)") }
    let words =
      report.record.result.failure == nil
      ? report.submission?.words ?? "another program submits the result" : "nothing to submit: the test did not finish"
    terminal.say("Control    \(granted.controlAddress.printable), test \(granted.test.id): \(words.printable)")
    if let qos = report.qosSubmission, qos != report.submission {
      terminal.say("           results of the QoS tests: \(qos.words.printable)")
    }
    for case .waiting in [report.submission, report.qosSubmission] {
      terminal.say("`edgeblue speedtest submit` submits it later.")
      break
    }
  }
}
