import BlueZTesting
import Testing

@testable import BlueZ

/// A link whose peer owes an answer, on a kernel that does not survive its end before.
extension ContractTests {
  /// An attempt that was cancelled when there was a link but no services, and everybody who has part in it.
  /// - Parameter late: how much later than the link the answer to `Connect` comes.
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

  @Test("A cancelled attempt ends its link, and the next one has a link of its own")
  func cancelledAttempt() async throws {
    try await withSilentPeer(patience: nil) { _, device in
      _ = try await device.connect(.direct(attempts: 1))
      #expect(device.servicesResolved)
    }
  }

  @Test(
    "A link whose peer owes an answer is left alone until it is gone; who connects next waits for that",
    arguments: [Duration.zero, .seconds(2)])
  func silentPeer(late: Duration) async throws {
    try await withSilentPeer(patience: .seconds(3600), late: late) { lab, device in
      // Had it been ended, the next attempt would have begun.
      let early = try await code { try await device.connect(.direct(timeout: .milliseconds(300), attempts: 1)) }
      #expect(early == .timedOut)
      #expect(device.isConnected)
      let next = Task { try await device.connect(.direct(attempts: 1)) }
      await lab.adapters[0].loseLinks()
      _ = try await next.value
      #expect(device.servicesResolved)
    }
  }

  @Test("A peer that never answers is given up in the end")
  func peerThatNeverAnswers() async throws {
    try await withSilentPeer(patience: .milliseconds(100)) { _, device in
      _ = try await device.connect(.direct(attempts: 1))
      #expect(device.servicesResolved)
    }
  }
}
