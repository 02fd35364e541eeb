import DBus
import DBusTesting
import Logging
import Timing

/// The fake bluetoothd: one instance of it after the other, on one bus.
actor Daemon {
  let configuration: FakeBlueZ.Configuration
  let logger: Logger
  private let bus: PrivateBus
  private(set) var connection: Connection?
  private var root: ExportedObject?
  private var service: ServedObject?
  private var departures: Subscription?
  /// The programs that have left the bus; their names are never used again.
  private var departed: Set<String> = []
  private(set) var adapters: [VirtualAdapter]
  /// The kernel's part, which programs reach without bluetoothd.
  let channels: VirtualChannels
  let kernel = VirtualKernel()
  private let presences = Presences()
  /// The recorded devices in range, which are no programs and survive bluetoothd.
  private(set) var replays: [ReplayProgram] = []
  /// The agents, and which of them decide for programs without an agent: the last one does.
  var agents: [VirtualAdapter.Client: String] = [:]
  var defaultAgents: [VirtualAdapter.Client] = []

  init(adapters count: Int, _ configuration: FakeBlueZ.Configuration, _ bus: PrivateBus, logger: Logger) throws {
    self.configuration = configuration
    self.bus = bus
    self.logger = logger
    let adapters = try (0..<count).map { try VirtualAdapter($0, address: configuration.sharedAddress) }
    channels = VirtualChannels(adapters.map { (address: $0.address, faults: $0.faults) })
    self.adapters = adapters
  }

  // MARK: Lifetime

  /// Starts an instance: the name first, then the adapters, as bluetoothd does.
  func start() async throws {
    guard connection == nil else { return }
    channels.onConnect { [weak self] in await self?.openChannel($0) }
    kernel.onCommand { [weak self] in await self?.answer($0) ?? [] }
    let connection = try await Connection.open(.address(bus.address), logger: logger)
    self.connection = connection
    root = try connection.export(.root, objectManager: true)
    service = try ServedObject(connection, Names.root, [agentManager()], logger: logger)
    departures = try await connection.observe(
      MatchRule(sender: "org.freedesktop.DBus", interface: "org.freedesktop.DBus", member: "NameOwnerChanged")
    ) { [weak self] change in
      guard let name = change.arguments.first?.string, name.hasPrefix(":"), change.arguments.last?.string == "" else {
        return
      }
      Task { [weak self] in await self?.clientLeft(name) }
    }
    guard try await connection.requestName(Names.service) == .owner else {
      throw DBusError.bluez("Failed", "another program on the private bus owns the name \(Names.service)")
    }
    for adapter in adapters where adapter.isPluggedIn { try serve(adapter) }
    for replay in replays { try await begin(replay) }
  }

  // MARK: Recorded devices

  /// Puts a recorded device into range.
  func add(_ replay: ReplayProgram) async throws {
    let adapter = try VirtualAdapter(adapters.count, address: replay.address)
    adapter.replay = replay
    adapters.append(adapter)
    replays.append(replay)
    guard connection != nil else { return }
    try serve(adapter)
    try await begin(replay)
  }

  /// Takes a recorded device out of range for good.
  func remove(_ replay: ReplayProgram) {
    replays.removeAll { $0 === replay }
    guard let adapter = adapters.first(where: { $0.replay === replay }) else { return }
    for device in adapter.devices.values { end(device, at: adapter, "org.bluez.Reason.Timeout") }
    adapter.clear()
    noteConnections(of: adapter)
    adapter.isPluggedIn = false
    replay.close()
  }

  private func begin(_ replay: ReplayProgram) async throws {
    guard let adapter = adapters.first(where: { $0.replay === replay }) else { return }
    if replay.hasServices { try await offer(replay.client, at: adapter) }
    adapter.clients.advertisements[replay.client] = .init(content: replay.air, isOnAir: true)
    report(adapter)
  }

  /// The connection on which an adapter has its objects: those of a recorded device are on one of its own, where no
  /// program looks for bluetoothd's.
  func home(of adapter: VirtualAdapter) throws -> Connection { try adapter.replay?.connection ?? living() }

  /// The MTU of connections with an adapter, in bytes.
  func mtu(with peer: VirtualAdapter) -> UInt16 { peer.replay?.mtu ?? configuration.mtu }

  /// Kills the instance as SIGKILL does, without notice. Returns when the bus has noticed.
  func kill() async throws {
    guard let dying = connection else { return }
    let observer = try await bus.connect()
    defer { observer.close() }
    let changes = try await observer.signals(
      MatchRule(sender: "org.freedesktop.DBus", member: "NameOwnerChanged", argument0: Names.service))
    end(dying)
    for await change in changes where change.arguments.last?.string == "" { return }
  }

  /// Dies of a fault of its own, without a reply to the call that is being served.
  func crash() {
    if let connection { end(connection) }
  }

  /// Ends the daemon together with the fake.
  func end() {
    if let connection { end(connection) }
    for replay in replays { replay.close() }
  }

  private func end(_ dying: Connection) {
    connection = nil
    presences.endService()
    dying.close()
    for adapter in adapters {
      adapter.clear()
      noteConnections(of: adapter)
    }
    agents = [:]
    defaultAgents = []
    root = nil
    service = nil
    departures = nil
  }

  /// A program left the bus; what it had registered goes.
  private func clientLeft(_ name: String) {
    departed.insert(name)
    for agent in agents.keys where agent.name == name { drop(agent) }
    for adapter in adapters {
      for advertisement in adapter.clients.advertisements.keys where advertisement.name == name {
        end(advertisement, at: adapter)
      }
      for application in adapter.server.applications where application.client.name == name {
        withdraw(application.client, at: adapter)
      }
      for monitors in adapter.clients.monitors.keys where monitors.name == name {
        adapter.clients.monitors[monitors] = nil
      }
      if adapter.clients.scans[name] != nil { stopScan(of: name, at: adapter) }
      adapter.clients.filters[name] = nil
      for device in adapter.devices.values {
        for (_, mirror) in device.mirrored { mirror.clientLeft(name) }
      }
    }
  }

  // MARK: Methods

  typealias Body = @Sendable (isolated Daemon, Interface.Call) async throws -> [Value]

  /// A method whose calls are served one after the other.
  nonisolated func method(
    _ name: String, _ input: [Interface.Argument] = [], out output: [Interface.Argument] = [], of adapter: Int? = nil,
    _ body: @escaping Body
  ) -> Interface.Method {
    let presence = presences.present(adapter)
    return .init(name, in: input, out: output) { [weak self] call in
      guard let self else { throw DBusError.doesNotExist }
      return try await serve(call, of: adapter, in: presence, body)
    }
  }

  /// A method that may take long, while others of its object are served.
  nonisolated func longMethod(
    _ name: String, _ input: [Interface.Argument] = [], out output: [Interface.Argument] = [], of adapter: Int,
    _ body: @escaping Body
  ) -> Interface.Method {
    let presence = presences.present(adapter)
    return .init(
      name, in: input, out: output,
      deferred: { [weak self] call, reply in
        // At once, so that the calls of a program reach the actor in their order.
        Task.immediate { [weak self] in
          do {
            reply.finish(.success(try await self?.serve(call, of: adapter, in: presence, body) ?? []))
          } catch {
            reply.finish(.failure(error))
          }
        }
      })
  }

  /// Serves a call that reached an object in a presence of its place, and is refused after that.
  private func serve(
    _ call: Interface.Call, of adapter: Int?, in presence: Presences.Presence, _ body: Body
  ) async throws -> [Value] {
    let place = (adapter ?? adapters.indices.first).map { adapters[$0] }
    let faults = place?.faults
    if let place { await waitForTurn(at: place) }
    guard presences.present(adapter) == presence else { throw DBusError.doesNotExist }
    let lateness = faults?.lateness ?? .zero
    do {
      let result = try await body(self, call)
      if lateness > .zero { try await Task.sleep(for: lateness, clock: .steady) }
      return result
    } catch {
      if lateness > .zero { try await Task.sleep(for: lateness, clock: .steady) }
      throw error
    }
  }

  /// Delays a call as the adapter's faults demand. bluetoothd serves calls in their order: none overtakes an earlier one
  /// because the delay is shorter by now.
  private func waitForTurn(at adapter: VirtualAdapter) async {
    let earlier = adapter.clients.turn
    let delay = adapter.faults.delay
    guard delay > .zero || earlier != nil else { return }
    let end = SteadyClock().now.advanced(by: delay)
    let turn = Turn()
    adapter.clients.turn = turn
    await earlier?.wait()
    // A call that is cancelled has its turn, too.
    _ = await Task { try await Task.sleep(until: end, clock: .steady) }.result
    if adapter.clients.turn === turn { adapter.clients.turn = nil }
    // The caller goes on before the actor takes up whoever waits for this turn.
    turn.end()
  }

  /// The presence of bluetoothd, or of one of its adapters, that a call reached.
  struct Addressee {
    fileprivate let adapter: Int?
    fileprivate let object: ServedObject?
  }

  func addressee(_ adapter: Int?) -> Addressee {
    Addressee(adapter: adapter, object: adapter.map { adapters[$0].object } ?? service)
  }

  /// Refuses a call that its addressee did not survive.
  func expect(_ addressee: Addressee) throws {
    guard addressee.object === self.addressee(addressee.adapter).object else { throw DBusError.doesNotExist }
  }

  /// Refuses what a program that has left the bus wants to have: bluetoothd had it for a moment, and it went with the
  /// program.
  func expect(_ client: String) throws {
    if departed.contains(client) { throw DBusError.doesNotExist }
  }

  /// Ends the presence of an adapter.
  func leave(_ index: Int) { presences.end(index) }

  /// The connection of the present instance.
  func living() throws -> Connection {
    guard let connection else { throw DBusError.notReady }
    return connection
  }
}
