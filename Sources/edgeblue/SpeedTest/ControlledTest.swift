import Foundation
import NetworkPath
import SpeedTest
import SpeedTestNIO

/// A test that a control server has granted, up to the submission of its result.
struct ControlledTest: Sendable {
  let control: ControlClient
  let transport: ControlHTTPTransport
  let outbox: SubmissionOutbox
  let test: ControlTest
  let addresses: [ControlAddress]

  /// The measurement server in the form that a user writes.
  var server: String { ServerAddress(host: test.host, port: test.port).text }

  /// Returns a client of the measurement server; options of the user take precedence over what the server has named.
  func client(_ options: SpeedTestClientOptions) -> SpeedTestClient {
    var client = SpeedTestClient(test)
    if options.http { client.usesHTTPUpgrade = true }
    if options.tls || test.isEncrypted {
      client.transport = options.insecure ? .unverifiedTLS : .tls(certificates: options.ca)
    }
    return client
  }

  func plan(_ options: SpeedTestClientOptions) throws -> SpeedTestPlan {
    try SpeedTestPlan(test, threads: options.threads, seconds: options.seconds)
  }

  /// The reference of a record to the test.
  var reference: SpeedTestRecord.Control {
    .init(address: control.address, test: test.id, openTest: test.openID, provider: test.provider)
  }

  /// Stores a complete result for its submission; notes how another one ended.
  func keep(_ record: SpeedTestRecord) async throws {
    guard record.result.failure == nil else {
      return try control.finished(record.result.failure?.error == nil ? .aborted : .failed)
    }
    let networkType = await Self.networkType(local: record.ends?.local)
    try control.enqueue(record, of: test, networkType: networkType, in: outbox)
    try control.finished(.notSubmitted)
  }

  /// Runs the quality-of-service tests that the server requests, and stores their results for the submission.
  func qualityTests(_ options: SpeedTestClientOptions, _ terminal: Terminal) async throws -> QoSReport {
    let runner = try QoSRunner(test, certificates: options.ca, acceptsAnyCertificate: options.insecure)
    let report = try await untilInterrupted { [control] in
      let plan = try await control.requestQoS()
      terminal.whisper("Running \(plan.count) quality-of-service tests")
      if !plan.unknownKinds.isEmpty {
        terminal.whisper("Left out: tests of the unknown kinds \(plan.unknownKinds.joined(separator: ", "))")
      }
      return try await runner.run(plan)
    }
    try control.enqueue(report, of: test, in: outbox)
    return report
  }

  /// Submits what waits for this control server.
  /// - Returns: The outcome of this test, of its QoS results if they were submitted; `nil` if another program submits it.
  func submit() async throws -> SubmissionOutcome? {
    do {
      let reports = try await untilInterrupted { [outbox, transport, control] in
        try await outbox.submit(by: transport, to: control.address)
      }
      let own = reports.filter { $0.test == test.id }
      if own.contains(where: { !$0.isQoS && $0.outcome == .submitted }) { try control.finished(.end) }
      return own.last?.outcome
    } catch let error as SpeedTestError where error.code == .busy {
      return nil
    } catch is CancellationError {
      return .waiting("interrupted")
    }
  }

  /// The kind of the network by the numbers of control servers: that of the interface with an address.
  private static func networkType(local: String?) async -> Int {
    // A host without netlink has a network all the same.
    let interfaces = try? await NetworkPathMonitor.start().path.interfaces
    let used = interfaces?.first { $0.addresses.contains { $0.description == local } }
    return switch used?.kind {
    case .wifi: 99
    case .cellular: 105
    default: 98
    }
  }
}

extension SubmissionOutcome {
  /// The outcome in words.
  var words: String {
    switch self {
    case .submitted: "submitted"
    case .waiting(let reason): "not submitted yet: \(reason)"
    case .declined(let reason): "declined: \(reason)"
    }
  }

  /// The outcome for programs.
  var json: JSON {
    switch self {
    case .submitted: ["state": "submitted", "reason": .null]
    case .waiting(let reason): ["state": "waiting", "reason": .string(reason)]
    case .declined(let reason): ["state": "declined", "reason": .string(reason)]
    }
  }
}

extension ControlAddress {
  /// The address with its version, and whether it is translated.
  var words: String {
    let local = local ?? ""
    return switch isTranslated {
    case true: "\(external.printable), translated from \(local)"
    case false: "\(external.printable), not translated"
    default: external.printable
    }
  }

  /// The address for programs.
  var json: JSON {
    [
      "version": .number(version), "external": .string(external), "local": JSON(local),
      "translated": isTranslated.map { .bool($0) } ?? .null,
    ]
  }
}
