import Foundation
import JSONValues
import NetworkPath
import SpeedTest
import SpeedTestNIO

/// A control server, with the way to it and the results that wait for it.
struct ControlServer: Sendable {
  let client: ControlClient
  let transport: ControlHTTPTransport
  let outbox: SubmissionOutbox

  /// Requests a test, and waits as long as the server demands.
  /// - Parameters:
  ///   - settings: The settings of the test.
  ///   - acceptsTerms: Whether the user accepts the server's terms and conditions.
  ///   - loop: The loop that the test belongs to; `nil` for a test of its own.
  func request(
    _ settings: SpeedTestSettings, acceptsTerms: Bool = false, loop: ControlLoop? = nil
  ) async throws -> ControlledTest {
    let answer = try await client.settings(acceptsTerms: acceptsTerms)
    let addresses = try await client.addresses(answer) { LocalAddress.toward($0) }
    let test = try await client.requestTest(threads: settings.threads, loop: loop)
    if test.wait > .zero { try await Task.sleep(for: test.wait, clock: .steady) }
    return ControlledTest(server: self, settings: settings, test: test, addresses: addresses)
  }
}

/// A test that a control server has granted, up to the submission of its result.
struct ControlledTest: Sendable {
  private let control: ControlServer
  private let settings: SpeedTestSettings
  let test: ControlTest
  let addresses: [ControlAddress]

  init(server: ControlServer, settings: SpeedTestSettings, test: ControlTest, addresses: [ControlAddress]) {
    control = server
    self.settings = settings
    self.test = test
    self.addresses = addresses
  }

  /// The measurement server in the form that a user writes.
  var server: String { ServerAddress(host: test.host, port: test.port).text }
  /// The address of the control server.
  var controlAddress: String { control.client.address }

  /// The reference of a record to the test.
  var reference: SpeedTestRecord.Control {
    .init(address: controlAddress, test: test.id, openTest: test.openID, provider: test.provider)
  }

  /// Stores a complete result for its submission; notes how another one ended.
  func keep(_ record: SpeedTestRecord) async throws {
    guard record.result.failure == nil else {
      return try control.client.finished(record.result.failure?.error == nil ? .aborted : .failed)
    }
    let networkType = await Self.networkType(local: record.ends?.local)
    try control.client.enqueue(record, of: test, networkType: networkType, in: control.outbox)
    try control.client.finished(.notSubmitted)
  }

  /// Runs the quality-of-service tests that the server requests, and stores their results for the submission.
  /// - Parameter announce: A closure that is called with the tests before they run.
  func qualityTests(_ announce: @Sendable (QoSPlan) -> Void = { _ in }) async throws -> QoSReport {
    let runner = try QoSRunner(
      test, certificates: settings.certificates, acceptsAnyCertificate: settings.acceptsAnyCertificate)
    let plan = try await control.client.requestQoS()
    announce(plan)
    let report = try await runner.run(plan)
    try control.client.enqueue(report, of: test, in: control.outbox)
    return report
  }

  /// Submits what waits for this control server.
  /// - Returns: The outcome of this test, of its QoS results if they were submitted; `nil` if another program submits it.
  /// - Throws: `CancellationError`; what waits stays stored.
  func submit() async throws -> SubmissionOutcome? {
    do {
      let reports = try await control.outbox.submit(by: control.transport, to: controlAddress)
      let own = reports.filter { $0.test == test.id }
      if own.contains(where: { !$0.isQoS && $0.outcome == .submitted }) { try control.client.finished(.end) }
      return own.last?.outcome
    } catch let error as SpeedTestError where error.code == .busy {
      return nil
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
  var json: JSONValue {
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
  var json: JSONValue {
    [
      "version": .number(version), "external": .string(external), "local": JSONValue(local),
      "translated": isTranslated.map { .bool($0) } ?? .null,
    ]
  }
}
