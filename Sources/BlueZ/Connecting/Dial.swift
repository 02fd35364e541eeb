import Streams

/// Performs the actions of a ``ConnectMachine`` for one device at one adapter.
final class Dial: Sendable {
  struct Shared {
    var state = DeviceConnection.State.connecting
    /// The address of the device; its identity address once a private one was resolved.
    var target: BluetoothAddress
    /// The kind of the address, with which bluetoothd connects without a scan; `nil` scans.
    var type: AddressType?
    /// A Boolean value that indicates whether the device was linked after the last attempt, which was of no use.
    var wasLinked = false
    var observers: [Int: BoundedStream<DeviceConnection.State>.Source] = [:]
    var nextObserver = 0
    var work: Task<Void, Never>?
    /// The observation of the session's end.
    var ending: Int?
  }

  let adapter: Adapter
  private let options: ConnectOptions
  private let lifetime: LinkLifetime
  private let required: [BluetoothUUID: Set<BluetoothUUID>]
  let shared: Lock<Shared>
  private let begun = ContinuousClock.now

  init(
    _ adapter: Adapter, _ target: BluetoothAddress, type: AddressType? = nil, _ options: ConnectOptions,
    _ lifetime: LinkLifetime, requiring required: [BluetoothUUID: Set<BluetoothUUID>]
  ) {
    self.adapter = adapter
    self.options = options
    self.lifetime = lifetime
    self.required = required
    shared = Lock(Shared(target: target, type: type))
  }

  /// The address; the identity, once a private one is resolved.
  var target: BluetoothAddress { shared.withLock { $0.target } }
  var state: DeviceConnection.State { shared.withLock { $0.state } }

  func states(limit: Int) -> BoundedStream<DeviceConnection.State> {
    let id = shared.withLock { shared in
      shared.nextObserver += 1
      return shared.nextObserver
    }
    let (stream, source) = BoundedStream.make(
      of: DeviceConnection.State.self, limit: limit,
      onTermination: { [weak self] in self?.shared.withLock { $0.observers[id] = nil } })
    let isOver = shared.withLock { shared in
      source.yield(shared.state)
      if case .ended = shared.state { return true }
      shared.observers[id] = source
      return false
    }
    if isOver { source.finish() }
    return stream
  }

  private func enter(_ state: DeviceConnection.State) {
    let finished = shared.withLock { shared -> [BoundedStream<DeviceConnection.State>.Source] in
      if case .ended = shared.state { return [] }
      shared.state = state
      for source in shared.observers.values { source.yield(state) }
      guard case .ended = state else { return [] }
      defer { shared.observers = [:] }
      return Array(shared.observers.values)
    }
    // Outside the lock, because finishing a stream removes its observer.
    for source in finished { source.finish() }
  }

  // MARK: The loop

  /// Attempts until the device is connected.
  /// - Returns: The state machine, which ``keep(_:)`` continues with.
  /// - Throws: ``BlueZError`` when the attempts end before, `CancellationError`.
  func connect() async throws -> ConnectMachine {
    var machine = ConnectMachine(options)
    var action = machine.handle(.start, at: now, random: 0.5)
    while action != .watch {
      if case .finish(let error) = action { throw error }
      action = try await step(action, &machine)
    }
    return machine
  }

  /// Continues in the background, from the start or from an established connection.
  func keep(_ machine: ConnectMachine?) {
    let work = Task { [self] in
      var machine = machine ?? ConnectMachine(options)
      var action: ConnectMachine.Action
      if case .connected = state { action = .watch } else { action = machine.handle(.start, at: now, random: 0.5) }
      do {
        while true {
          if case .finish(let error) = action { return enter(.ended(error)) }
          action = try await step(action, &machine)
        }
      } catch {
        // Cancelled: `end` publishes the state when the device is disconnected, too.
      }
    }
    let ending = adapter.core.onClose { [weak self] in
      work.cancel()
      self?.enter(.ended(SessionCore.closed))
    }
    shared.withLock { shared in
      shared.work = work
      shared.ending = ending
    }
  }

  private func step(
    _ action: ConnectMachine.Action, _ machine: inout ConnectMachine
  ) async throws -> ConnectMachine.Action {
    let event = try await perform(action)
    let next = machine.handle(event, at: now, random: .random(in: 0...1))
    switch event {
    case .failed(_, let error), .lost(let error):
      let isLinked = isLinked
      shared.withLock { $0.wasLinked = isLinked }
      adapter.core.logger.debug("not connected to \(target)", metadata: ["error": "\(error)"])
      enter(.waiting(error))
    case .start, .connected, .due: break
    }
    return next
  }

  var isLinked: Bool { adapter.device(target)?.isConnected ?? false }

  private var now: Duration { ContinuousClock.now - begun }

  /// - Throws: `CancellationError`.
  private func perform(_ action: ConnectMachine.Action) async throws -> ConnectMachine.Event {
    switch action {
    case .attempt: return try await attempt(afresh: false)
    case .attemptAfresh: return try await attempt(afresh: true)
    case .delay(let delay):
      try await untilLinked(atMost: delay)
      return .due
    case .waitForAdapter:
      try await waitForAdapter()
      return .due
    case .watch: return .lost(try await untilLost())
    case .finish(let error): throw error
    }
  }

  private func attempt(afresh: Bool) async throws -> ConnectMachine.Event {
    enter(.connecting)
    do {
      let device = try await ConnectFailure.in(.search) {
        if afresh { try await forget() }
        return try await found()
      }
      try await device.attempt(options.timeout, lifetime, requiring: required)
      enter(.connected(device))
      return .connected
    } catch let failure as ConnectFailure {
      return .failed(failure.phase, failure.error)
    }
  }

  /// Returns the device: the one that bluetoothd knows, or finds; with an address of known type one that it connects to
  /// without having seen it.
  private func found() async throws -> Device {
    let (target, type) = shared.withLock { ($0.target, $0.type) }
    if let type, adapter.device(target) == nil,
      let device = try await adapter.connectUnseen(target, type, options.timeout, lifetime)
    {
      return device
    }
    return try await adapter.find(target, timeout: options.timeout)
  }

  /// Makes bluetoothd forget its cache of the services. The only call for that makes it forget the device, which would
  /// delete the keys of a bonded one.
  private func forget() async throws {
    guard let device = adapter.device(target), !device.isBonded else { return }
    try await device.remove()
  }

  private func waitForAdapter() async throws {
    let changes = adapter.core.stream(of: Bool.self, limit: 1) { _ in true }
    if adapter.isPowered { return }
    for await _ in changes where adapter.isPowered { return }
    throw adapter.core.errorOfAnEndedStream()
  }

  // MARK: The end

  func end() async {
    await endWork()
    if case .ended = state { return }
    // A link that another program made is not for this one to end.
    if let device = adapter.device(target), adapter.core.state.withLock({ $0.leases.contains(device.path) }) {
      do {
        try await device.disconnect()
      } catch {
        adapter.core.logger.debug("not disconnected", metadata: ["error": "\(error)"])
      }
    }
    enter(.ended(nil))
  }

  /// Ends the supervision of the link.
  private func endWork() async {
    let (work, ending) = shared.withLock { ($0.work, $0.ending) }
    if let ending { adapter.core.stopObserving(ending) }
    work?.cancel()
    await work?.value
  }

  /// Ends the work when the last reference to the connection is released.
  func abandon() {
    switch options {
    case .direct: Task { await endWork() }
    case .keepConnected:
      // From now on, so that the next caller does not reuse the connection that is ending.
      let device = adapter.device(target)?.path
      let ending = device.flatMap { path in adapter.core.state.withLock { $0.leases.contains(path) } ? path : nil }
      if let ending { adapter.core.beginDisconnection(ending) }
      Task {
        await end()
        if let ending { adapter.core.endDisconnection(ending) }
      }
    }
  }
}
