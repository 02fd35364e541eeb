import BlueZ
import DeterministicTesting
import Foundation
import Streams

/// One program's random life over the real bluetoothd: it declares and ends, cancels and releases, while links are lost,
/// bluetoothd restarts and the controllers are unplugged. The list of `ProgramLife`, which has a fake BlueZ, as far as
/// bluetoothd shows from outside what it has.
final class RadioLife {
  private static let sensor: BluetoothUUID = "ec0d0321-ec0d-ec0d-ec0d-ec0d0321ec0d"
  /// The services that the program may offer, each by one application.
  static let services: [BluetoothUUID] = (0x22...0x25).map { number in
    let digits = String(number, radix: 16)
    return BluetoothUUID(stringLiteral: "ec0d03\(digits)-ec0d-ec0d-ec0d-ec0d03\(digits)ec0d")
  }

  /// The handles that the program holds.
  private struct Possessions {
    var advertisements: [Advertisement] = []
    var applications: [(service: BluetoothUUID, handle: GATTApplication)] = []
    var scans: [BoundedStream<Adapter.ScanResult>] = []
    var connections: [DeviceConnection] = []
    var agents: [AgentRegistration] = []
    var windows: [PairingWindow] = []
  }

  /// What bluetoothd has for the program.
  struct Holdings: Equatable, Sendable {
    var advertisements = 0
    var services: Set<BluetoothUUID> = []
    var isScanning = false
    var isLinked = false
  }

  private let peripheral: Adapter
  private let opened: (GATTApplication, Advertisement)
  /// A program that only looks.
  private var observer: Adapter
  private var program: Adapter?
  private let possessions = Lock(Possessions())
  private var random: SeededGenerator
  private var tasks: [Task<Void, any Error>] = []
  private(set) var story: [String] = []

  init(seed: UInt64) async throws {
    random = SeededGenerator(seed: seed)
    peripheral = try await Radio.adapter(Radio.phone)
    observer = try await Radio.adapter(Radio.mac)
    opened = (
      try await peripheral.offer([LocalService(Self.sensor, characteristics: [LocalCharacteristic("2a19", value: [1])])]
      ),
      try await peripheral.advertise(.init(services: [Self.sensor]))
    )
    program = try await Radio.adapter(Radio.mac)
  }

  // MARK: The life

  func live(steps: Int) async throws {
    for _ in 0..<steps {
      try await step()
      try await Task.sleep(for: .milliseconds(Int.random(in: 0...200, using: &random)))
    }
    for task in tasks {
      do {
        try await task.value
      } catch is CancellationError {
        // As this life wanted.
      } catch let error as BlueZError where ![.invalidArgument, .notSupported, .overflowed].contains(error.code) {
        story.append("\(error)")
      }
    }
    tasks = []
  }

  private func step() async throws {
    guard let program else { return }
    let possessions = possessions
    let number = Int.random(in: 0..<17, using: &random)
    story.append("step \(number)")
    switch number {
    case 0, 1:
      begin { possessions.keep(try await program.advertise(.init(manufacturerData: [0xffff: [9]])), \.advertisements) }
    case 2: offer(at: program)
    case 3: begin { possessions.keep(try await program.discover(), \.scans) }
    case 4: begin { possessions.keep(try await program.session.register(PairingAgent()), \.agents) }
    case 5: begin { possessions.keep(try await program.openPairingWindow(for: .seconds(600)), \.windows) }
    case 6, 7:
      let options = ConnectOptions.keepConnected(timeout: .seconds(10), longestDelay: .milliseconds(500))
      let address = peripheral.address
      begin { possessions.keep(try await program.connect(to: address, type: .public, options), \.connections) }
    case 8: end { try await possessions.take(\.advertisements)?.stop() }
    case 9: end { try await possessions.take(\.applications)?.handle.unregister() }
    case 10: end { try await possessions.take(\.agents)?.unregister() }
    case 11: end { try await possessions.take(\.windows)?.close() }
    case 12: end { await possessions.take(\.connections)?.end() }
    case 13: release()
    case 14:
      for peer in peripheral.connectedPeers { end { [peripheral] in try await peripheral.device(peer)?.disconnect() } }
    case 15: try await kill("bluetoothd")
    default: try await kill("controllers")
    }
  }

  /// Kills bluetoothd, or unplugs all controllers, and starts that again, while declarations and their ends are under way.
  private func kill(_ victim: String) async throws {
    // Linux 6.1 may crash when a link ends over which nothing has arrived yet, and a kill does not wait for that.
    for connection in possessions.withLock({ $0.connections }) { _ = try await connection.device() }
    try await Radio.fault(victim, "kill")
    try await Radio.fault(victim, "start")
  }

  private func offer(at adapter: Adapter) {
    let possessions = possessions
    let used = possessions.withLock { Set($0.applications.map(\.service)) }
    guard let service = Self.services.first(where: { !used.contains($0) }) else { return }
    begin {
      let application = try await adapter.offer([LocalService(service, characteristics: [])])
      possessions.keep((service, application), \.applications)
    }
  }

  /// Begins something, and cancels that in one of three cases.
  private func begin(_ body: @escaping @Sendable () async throws -> Void) {
    let task = Task { try await body() }
    tasks.append(task)
    guard Int.random(in: 0..<3, using: &random) == 0 else { return }
    let patience = Duration.milliseconds(Int.random(in: 0...100, using: &random))
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
  }

  // MARK: The outcome

  private var wanted: Holdings {
    possessions.withLock { held in
      Holdings(
        advertisements: held.advertisements.count, services: Set(held.applications.map(\.service)),
        isScanning: !held.scans.isEmpty, isLinked: !held.connections.isEmpty)
    }
  }

  /// What bluetoothd has, as another program sees it.
  private var found: Holdings {
    Holdings(
      advertisements: observer.advertisingCapabilities?.activeInstances ?? -1,
      services: observer.services.intersection(Self.services), isScanning: observer.isDiscovering,
      isLinked: observer.connectedPeers.contains { $0.address == peripheral.address })
  }

  /// Waits until bluetoothd has what is declared, and has it for a while.
  /// - Returns: The difference; `nil` when there is none.
  func difference() async throws -> String? { try await difference(from: { self.wanted }) }

  private func difference(from wanted: () -> Holdings) async throws -> String? {
    var calm = 0
    var looks = 0
    let end = ContinuousClock.now + .seconds(90)
    while ContinuousClock.now < end {
      calm = found == wanted() ? calm + 1 : 0
      if calm == 10 { return nil }
      looks += 1
      // bluetoothd 5.66 does not always signal that Connected changed. A program that starts now reads it.
      if looks.isMultiple(of: 50) { try await lookAfresh() }
      try await Task.sleep(for: .milliseconds(100))
    }
    return "bluetoothd has \(found), declared is \(wanted()); \(story)"
  }

  private func lookAfresh() async throws {
    observer.session.close()
    observer = try await Radio.adapter(Radio.mac)
  }

  /// Closes the session, or releases it with all its handles.
  /// - Returns: The remains; `nil` when nothing is left in bluetoothd or in the process.
  func finish() async throws -> String? {
    weak let session = program?.session
    if Bool.random(using: &random) { program?.session.close() }
    possessions.withLock { $0 = Possessions() }
    program = nil
    if let left = try await difference(from: { Holdings() }) { return left }
    for _ in 0..<100 where session != nil { try await Task.sleep(for: .milliseconds(50)) }
    if session != nil { return "the session lives; \(story)" }
    // Nothing is in the way of the next program.
    let next = try await Radio.adapter(Radio.mac)
    let agent = try await next.session.register(PairingAgent())
    try await next.advertise(.init(manufacturerData: [0xffff: [9]])).stop()
    try await agent.unregister()
    next.session.close()
    withExtendedLifetime(opened) {}
    peripheral.session.close()
    observer.session.close()
    return nil
  }
}

extension Lock {
  /// Removes the last handle of a kind, so that the caller can end it or release it.
  fileprivate func take<Handle>(_ kind: WritableKeyPath<State, [Handle]>) -> Handle? {
    withLock { $0[keyPath: kind].popLast() }
  }

  fileprivate func keep<Handle>(_ handle: Handle, _ kind: WritableKeyPath<State, [Handle]>) {
    withLock { $0[keyPath: kind].append(handle) }
  }
}
