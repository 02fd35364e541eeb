import BlueZTesting
import Testing

@testable import BlueZ

/// Tests of a connection whose peer owes a response, on a kernel that crashes when it ends before.
extension ContractTests {
  /// Runs a test after an attempt that was cancelled when there was a connection without services.
  /// - Parameter late: The time from the connection to the reply of `Connect`.
  private func withSilentPeer(
    patience: Duration?, late: Duration = .zero, _ body: (FakeBlueZ, Device) async throws -> Void
  ) async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    central.core.state.withLock { $0.disconnections.responseTimeout = patience }
    let opened = try await Parlour().open(on: phone)
    let device = try await firstSeen(by: central)
    lab.adapters[1].inject(.servicesNeverResolve(times: 1))
    lab.adapters[1].inject(.lateConnects(late))
    let attempt = Task { try await device.connect(.direct(attempts: 1)) }
    while !device.isConnected { try await Task.sleep(for: .milliseconds(1)) }
    attempt.cancel()
    await #expect(throws: CancellationError.self) { try await attempt.value }
    lab.adapters[1].repair()
    try await body(lab, device)
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("A cancelled attempt ends its connection, and the next one makes a new connection")
  func cancelledAttempt() async throws {
    try await withSilentPeer(patience: nil) { _, device in
      _ = try await device.connect(.direct(attempts: 1))
      #expect(device.servicesResolved)
    }
  }

  @Test("An attempt whose link is lost before the reply of Connect fails at once") func lostBeforeTheReply()
    async throws
  {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let opened = try await Parlour().open(on: phone)
    let device = try await firstSeen(by: try await lab.adapter(1))
    lab.adapters[1].inject(.lateConnects(.milliseconds(200)))
    let attempt = Task { try await device.connect(.direct(timeout: .seconds(20), attempts: 1)) }
    while !device.isConnected { try await Task.sleep(for: .milliseconds(1)) }
    await lab.adapters[1].loseConnections()
    // Not a time-out, which is the end of waiting for the services of no link.
    #expect(try await code { _ = try await attempt.value } == .notConnected)
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test(
    "A connection whose peer owes a response is left alone, and the next attempt waits for its end",
    arguments: [Duration.zero, .seconds(2)])
  func silentPeer(late: Duration) async throws {
    try await withSilentPeer(patience: .seconds(3600), late: late) { lab, device in
      // If the connection had been ended, the next attempt would have started.
      let early = try await code { try await device.connect(.direct(timeout: .milliseconds(300), attempts: 1)) }
      #expect(early == .timedOut)
      #expect(device.isConnected)
      let next = Task { try await device.connect(.direct(attempts: 1)) }
      await lab.adapters[0].loseConnections()
      _ = try await next.value
      #expect(device.servicesResolved)
    }
  }

  @Test("A connection to a peer that never responds is closed after the timeout")
  func peerThatNeverAnswers() async throws {
    try await withSilentPeer(patience: .milliseconds(100)) { _, device in
      _ = try await device.connect(.direct(attempts: 1))
      #expect(device.servicesResolved)
    }
  }
}
