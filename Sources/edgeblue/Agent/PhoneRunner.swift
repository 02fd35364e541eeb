import Agent
import BlueZ
import EdgeCoder
import Streams
import SystemState
import Timing

/// The phone role of the agent, for mode Bluetooth Local.
struct PhoneRunner: ComputeRunner {
  /// The timeout for bluetoothd to unregister the service; closing the session removes the service anyway.
  private static let goodbyeLimit: Duration = .seconds(4)

  let options: PhoneOptions
  let engine: any Engine
  let power: PowerMonitor
  let bonds: BondStore
  let terminal: Terminal
  /// A Boolean value that indicates whether the user powered the adapter off; then only the user powers it on again.
  private let wasSwitchedOff = Lock(false)
  private let running = Lock<PhoneService?>(nil)

  init(options: PhoneOptions, engine: any Engine, power: PowerMonitor, bonds: BondStore, terminal: Terminal) {
    self.options = options
    self.engine = engine
    self.power = power
    self.bonds = bonds
    self.terminal = terminal
  }

  /// The metrics of the phone; none while it does not run.
  func metrics() async -> [Metric] { await running.withLock { $0 }?.snapshot().metrics ?? [] }

  func run(whenReady: @escaping @Sendable () async -> Void) async throws {
    let mayNot = wasSwitchedOff.withLock { $0 }
    let radio = try await Radio.open(options.adapter, terminal, switchingOn: !mayNot)
    wasSwitchedOff.withLock { $0 = false }
    // Closing the session removes everything that bluetoothd holds for it.
    defer { radio.session.close() }
    let (transport, phone) = try await options.start(on: radio, engine: engine, power: power, bonds: bonds)
    running.withLock { $0 = phone }
    defer { running.withLock { $0 = nil } }
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
      group.addTask { try await endWhenUnreachable(phone, radio) }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// Throws when bluetoothd or the adapter is gone: the phone would wait for it, but the agent must not report that it runs.
  private func endWhenUnreachable(_ phone: PhoneService, _ radio: Radio) async throws {
    let name = radio.name
    for await case .down in await phone.events() {
      guard radio.session.isServiceUp else { throw BlueZError(.serviceUnavailable, "bluetoothd has ended") }
      guard radio.adapter.name != nil else { throw BlueZError(.noAdapter, "\(name) was removed") }
      wasSwitchedOff.withLock { $0 = !radio.adapter.isPowered }
      throw BlueZError.switchedOff(name)
    }
  }

  /// Unregisters the service, in separate tasks because the current one is cancelled.
  private static func sayGoodbye(_ transport: BlueZPhoneTransport, _ radio: Radio) async {
    let limit = Task {
      try await Task.sleep(for: goodbyeLimit, clock: .steady)
      radio.session.close()
    }
    // If this fails, the end of the session removes the service.
    _ = await Task { try await transport.stop() }.result
    limit.cancel()
  }
}
