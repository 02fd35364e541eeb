extension ControlClient {
  /// Requests the quality-of-service tests that the server wants.
  /// - Throws: ``SpeedTestError``: as the transport, `.declined`, `.storage`; `CancellationError`.
  public func requestQoS() async throws -> QoSPlan {
    let client = try client()
    var members = device.members(client: client)
    members["clientUuid"] = .string(client)
    return QoSPlan(try await post("/qosTestRequest", members, "request the QoS tests")["objectives"] ?? .null)
  }

  /// Stores the results of the quality-of-service tests in an outbox, from which they are submitted.
  ///
  /// Tests that could not run have no values to submit, and are left out.
  /// - Parameters:
  ///   - report: The results.
  ///   - test: The test as the server has granted it.
  ///   - outbox: The outbox.
  /// - Throws: ``SpeedTestError`` with code `.storage`.
  public func enqueue(
    _ report: QoSReport, of test: ControlTest, in outbox: SubmissionOutbox
  ) throws(SpeedTestError) {
    let client = try client()
    var members = device.members(client: client)
    members["client_uuid"] = .string(client)
    members["test_token"] = .string(test.token)
    members["qos_result"] = .array(report.results.filter(\.hasRun).map(\.submitted))
    try outbox.add(submission(.qos, test, url(test.qosResultURL, "/resultQoS"), .object(members)))
  }
}

extension QoSResult {
  fileprivate var hasRun: Bool { if case .notRun = verdict { false } else { true } }
}
