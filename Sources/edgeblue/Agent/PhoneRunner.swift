import Agent
import BlueZ
import DBus
import EdgeCoder
import SystemState

/// The phone role, as the agent runs it in Bluetooth Local.
struct PhoneRunner: ComputeRunner {
  /// How long bluetoothd may take to take the service away; it goes all the same.
  private static let goodbyeLimit: Duration = .seconds(4)

  let options: PhoneOptions
  let engine: any Engine
  let power: PowerMonitor
  let terminal: Terminal

  func run(whenReady: @escaping @Sendable () async -> Void) async throws {
    let radio = try await Radio.open(options.adapter, terminal)
    // What bluetoothd keeps for this session goes with it, whatever it answers.
    defer { radio.session.close() }
    let (transport, phone) = try await options.start(on: radio, engine: engine, power: power)
    let outcome: Result<Void, any Error>
    do {
      await whenReady()
      try await work(phone, on: radio)
      outcome = .success(())
    } catch {
      outcome = .failure(error)
    }
    await Self.sayGoodbye(transport, radio)
    try outcome.get()
  }

  private func work(_ phone: PhoneService, on radio: Radio) async throws {
    let diary = PhoneDiary(terminal: terminal)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await phone.run() }
      group.addTask { await diary.follow(phone) }
      group.addTask { try await Self.endWhenUnreachable(phone, radio.name) }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// The phone waits for bluetoothd and the adapter to come back; the agent must not say meanwhile that it works.
  private static func endWhenUnreachable(_ phone: PhoneService, _ adapter: String) async throws {
    var wasUp = false
    while true {
      let isUp = await phone.snapshot().isUp
      if wasUp, !isUp {
        throw BlueZError(.serviceUnavailable, "bluetoothd or the adapter \(adapter) has gone, or is switched off")
      }
      wasUp = isUp
      try await Task.sleep(for: .milliseconds(500), clock: .steady)
    }
  }

  /// In tasks of their own, because the one that ends is cancelled.
  private static func sayGoodbye(_ transport: BlueZPhoneTransport, _ radio: Radio) async {
    let limit = Task {
      try await Task.sleep(for: goodbyeLimit, clock: .steady)
      radio.session.close()
    }
    // Refused or not, the session's end takes the service away.
    _ = await Task { try await transport.stop() }.result
    limit.cancel()
  }
}
