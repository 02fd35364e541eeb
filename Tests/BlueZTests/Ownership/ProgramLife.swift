import BlueZTesting
import DeterministicTesting
import Streams
import Testing

@testable import BlueZ

/// One program's random life over a fake BlueZ: it declares and ends, cancels and releases, while bluetoothd restarts,
/// the adapter is unplugged, and answers are slow or late.
final class ProgramLife {
  private let lab: FakeBlueZ
  /// The peripheral that the program connects to; a program of its own.
  private let sensor: Session
  private let peripheral: (GATTApplication, Advertisement)
  /// Where the peripheral accepts channels, which end with those of the program.
  private let counter: L2CAPListener
  private let target: BluetoothAddress
  private var adapter: Adapter?
  private let possessions = Lock(Possessions())
  private var random: SeededGenerator
  private var tasks: [Task<Void, any Error>] = []
  private var readers: [Task<Void, Never>] = []

  init(seed: UInt64) async throws {
    random = SeededGenerator(seed: seed)
    lab = try await FakeBlueZ.start()
    let other = try await lab.adapter(1)
    sensor = other.session
    target = other.address
    peripheral = try await Parlour().open(on: other)
    counter = try other.listen()
    Task { [counter] in
      for try await channel in counter {
        Task { for try await packet in channel.packets { try await channel.send(packet) } }
      }
    }
    let own = try await lab.adapter(0)
    adapter = own
    let session = own.session
    let streams = (session.events(), own.connectionEvents(), own.newBonds(), own.values(of: \.isPowered))
    readers = [
      Task { for await _ in streams.0 {} }, Task { for await _ in streams.1 {} }, Task { for await _ in streams.2 {} },
      Task { for await _ in streams.3 {} },
    ]
  }

  // MARK: The life

  func live() async throws {
    for _ in 0..<24 {
      try await step()
      try await Task.sleep(for: .milliseconds(Int.random(in: 0...4, using: &random)))
    }
    for hardware in lab.adapters {
      hardware.repair()
      try await hardware.plugIn()
    }
    try await lab.startAgain()
    for task in tasks {
      do {
        try await task.value
      } catch is CancellationError {
        // As this life wanted.
      } catch let error as BlueZError where Self.isExpected(error) {
        // bluetoothd, the adapter or room for one more was not there.
      }
    }
    tasks = []
  }

  private static func isExpected(_ error: BlueZError) -> Bool {
    ![.invalidArgument, .notSupported, .overflowed].contains(error.code)
  }

  private func step() async throws {
    guard let adapter else { return }
    let possessions = possessions
    let target = target
    switch Int.random(in: 0..<24, using: &random) {
    case 0, 1: begin { possessions.keep(try await adapter.advertise(.init(name: "Lamp")), \.advertisements) }
    case 2:
      begin { possessions.keep(try await adapter.offer([LocalService("180f", characteristics: [])]), \.applications) }
    case 3: begin { possessions.keep(try await adapter.discover(), \.scans) }
    case 4: begin { possessions.keep(try await adapter.session.register(PairingAgent()), \.agents) }
    case 5: begin { possessions.keep(try await adapter.openPairingWindow(for: .seconds(600)), \.windows) }
    case 6, 7:
      let options = ConnectOptions.keepConnected(backoff: .milliseconds(5), longestDelay: .milliseconds(20))
      begin { possessions.keep(try await adapter.connect(to: target, options), \.connections) }
    case 8: end { try await possessions.take(\.advertisements)?.stop() }
    case 9: end { try await possessions.take(\.applications)?.unregister() }
    case 10: end { try await possessions.take(\.agents)?.unregister() }
    case 11: end { try await possessions.take(\.windows)?.close() }
    case 12: end { await possessions.take(\.connections)?.end() }
    case 13: release()
    case 14: try await lab.restart()
    case 15: lab.adapters[0].inject(.slowReplies(.milliseconds(Int.random(in: 1...15, using: &random))))
    case 16: lab.adapters[0].inject(.lateReplies(.milliseconds(Int.random(in: 1...15, using: &random))))
    case 17: lab.adapters[0].repair()
    case 18:
      try await lab.adapters[0].unplug()
      try await Task.sleep(for: .milliseconds(Int.random(in: 0...3, using: &random)))
      try await lab.adapters[0].plugIn()
    case 19: await lab.adapters[0].loseConnections()
    case 20: begin { possessions.keep(try adapter.listen(), \.listeners) }
    case 21: openChannel(at: adapter)
    case 22: possessions.take(\.listeners)?.close()
    default: possessions.take(\.channels)?.close()
    }
  }

  /// Opens a channel, over the link that there is or one that the kernel makes.
  private func openChannel(at adapter: Adapter) {
    let possessions = possessions
    guard let device = adapter.device(target) else { return }
    possessions.withLock { $0.hasOpenedChannels = true }
    begin { [counter] in
      let channel = try await device.openChannel(psm: counter.psm, timeout: .milliseconds(200))
      possessions.keep(channel, \.channels)
      try await channel.send([1])
    }
  }

  /// Begins something, and cancels that in one of three cases.
  private func begin(_ body: @escaping @Sendable () async throws -> Void) {
    let task = Task { try await body() }
    tasks.append(task)
    guard Int.random(in: 0..<3, using: &random) == 0 else { return }
    let patience = Duration.milliseconds(Int.random(in: 0...12, using: &random))
    tasks.append(
      Task {
        try await Task.sleep(for: patience)
        task.cancel()
      })
  }

  private func end(_ body: @escaping @Sendable () async throws -> Void) { tasks.append(Task { try await body() }) }

  /// Releases a handle of each kind without ending it.
  private func release() {
    _ = possessions.take(\.advertisements)
    _ = possessions.take(\.applications)
    _ = possessions.take(\.scans)
    _ = possessions.take(\.connections)
    _ = possessions.take(\.agents)
    _ = possessions.take(\.windows)
    _ = possessions.take(\.listeners)
    _ = possessions.take(\.channels)
  }

  // MARK: The outcome

  /// Waits until bluetoothd has what is declared, and has it for a while.
  /// - Returns: The difference; `nil` when there is none.
  func difference() async -> String? {
    var found = FakeAdapter.Holdings()
    var wanted = FakeAdapter.Holdings()
    var calm = 0
    for _ in 0..<1500 {
      found = await lab.adapters[0].holdings()
      wanted = possessions.withLock { $0.holdings(like: found) }
      calm = found == wanted ? calm + 1 : 0
      if calm == 10 { return nil }
      do { try await Task.sleep(for: .milliseconds(4)) } catch { break }
    }
    let states = possessions.withLock { $0.connections.map(\.state) }
    return "bluetoothd has \(found), declared is \(wanted), the connections are \(states)"
  }

  /// Closes the session, or releases it with all its handles and streams.
  /// - Returns: The remains; `nil` when nothing is left in bluetoothd or in the process.
  func end() async throws -> String? {
    weak let core = adapter?.core
    weak let connection = core?.state.withLock { $0.bus.connection }
    if Bool.random(using: &random) { await close() } else { readers.forEach { $0.cancel() } }
    for reader in readers { await reader.value }
    readers = []
    possessions.withLock { $0 = Possessions() }
    adapter = nil
    var remains: String?
    for _ in 0..<1500 {
      let found = await lab.adapters[0].holdings()
      remains = found == .init() ? nil : "bluetoothd has \(found)"
      if core != nil { remains = "the session lives" }
      if connection != nil { remains = "the connection to the bus lives" }
      if remains == nil { break }
      try await Task.sleep(for: .milliseconds(4))
    }
    withExtendedLifetime(peripheral) {}
    sensor.close()
    try await lab.stop()
    return remains
  }

  /// Closes the session, and waits for the end of every stream while the handles still exist.
  private func close() async {
    adapter?.session.close()
    for reader in readers { await reader.value }
    for scan in possessions.withLock({ $0.scans }) { for await _ in scan {} }
    for connection in possessions.withLock({ $0.connections }) { for await _ in connection.states() {} }
    let (listeners, channels) = possessions.withLock { ($0.listeners, $0.channels) }
    for listener in listeners { await drain(listener) }
    for channel in channels { await drain(channel.packets) }
  }

  /// Reads to the end, in order or not.
  private func drain<Elements: AsyncSequence>(_ elements: Elements) async {
    do { for try await _ in elements {} } catch {}
  }
}
