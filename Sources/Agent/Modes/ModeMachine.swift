/// The state machine of the compute mode: it starts and stops the services of the modes.
///
/// It performs nothing itself and has no clock.
///
/// Four rules hold in every state:
///
/// 1. Only the user changes the mode to ``ComputeMode/on``, unless ``ReturnToOn`` says otherwise. The one automatic change
///    is from there to ``ComputeMode/bluetoothLocal``, when there is no default route and there is a Bluetooth adapter.
/// 2. At most one of the two services runs at a time: the next one starts when the one before has ended.
/// 3. ``runState`` is ``RunState/running`` only while the service of the mode has reported that it works.
/// 4. With ``ModeRecord/runOnlyWhileCharging`` nothing runs unless the machine is known to be on external power.
///
/// ```swift
/// var machine = ModeMachine(ModeRecord(mode: .on))
/// print(machine.handle(.start))  // the heartbeat service starts
/// print(machine.handle(.networkLost(because: "no carrier")))  // the mode becomes Bluetooth Local
/// ```
public struct ModeMachine: Sendable, Hashable {
  enum Path: Sendable, Hashable {
    case unknown
    case found
    case lost(because: String)
  }

  enum Phase: Sendable, Hashable {
    case idle
    case starting
    case running
    case stopping
    case failed(because: String)
  }

  /// The mode as it is to be on disk.
  public private(set) var record: ModeRecord
  private(set) var isActive = false
  private(set) var path = Path.unknown
  /// A Boolean value that indicates whether the machine is on external power; `nil` before it is known.
  private(set) var onExternalPower: Bool?
  /// A Boolean value that indicates whether there is a Bluetooth adapter; `true` before it is known.
  private(set) var hasBluetooth = true
  private let returnToOn: ReturnToOn
  /// A Boolean value that indicates whether nothing runs for the swarm while the network is metered.
  private let pausesOnMetered: Bool
  private(set) var isMetered = false
  private(set) var phone = Phase.idle
  private(set) var heartbeat = Phase.idle

  /// Creates a state machine with the restored mode; ``Event/start`` applies it.
  public init(_ record: ModeRecord, returnToOn: ReturnToOn = .never, pausesOnMetered: Bool = false) {
    self.returnToOn = returnToOn
    self.pausesOnMetered = pausesOnMetered
    self.record = ModeRecord(
      mode: record.mode, cause: record.cause, runOnlyWhileCharging: record.runOnlyWhileCharging)
  }

  /// Handles an event and changes the state.
  /// - Returns: The actions to perform, in this order.
  public mutating func handle(_ event: Event) -> [Action] {
    let before = (record: record, block: block)
    var actions: [Action] = []
    take(event, &actions)
    if returns(after: event) {
      record = ModeRecord(mode: .on, runOnlyWhileCharging: record.runOnlyWhileCharging)
      actions.append(.log(.returned))
    }
    if isActive, record.mode == .on, hasBluetooth, case .lost(let reason) = path {
      record.mode = .bluetoothLocal
      record.cause = .networkLoss
      actions.append(.log(.downgraded(because: reason)))
    }
    // First of all: no later action may survive a crash that this one would not.
    if record != before.record { actions.insert(.persist(record), at: 0) }
    if let block, block != before.block { actions.append(.log(.blocked(block))) }
    if before.block != nil, wanted != nil { actions.append(.log(.unblocked)) }
    settle(&actions)
    return actions
  }

  /// The service that is to run now.
  var wanted: ComputeService? {
    guard isActive, block == nil else { return nil }
    return switch record.mode {
    case .off: nil
    case .on: .heartbeat
    case .bluetoothLocal: .phone
    }
  }

  /// The reason why nothing runs although the mode is not Off; `nil` if there is none.
  public var block: Block? {
    guard isActive, record.mode != .off else { return nil }
    if record.runOnlyWhileCharging, onExternalPower != true {
      return onExternalPower == nil ? .powerUnknown : .notCharging
    }
    if record.mode == .on, case .lost = path { return .noNetwork }
    if record.mode == .on, pausesOnMetered, isMetered { return .metered }
    return nil
  }

  /// Returns `true` if the automatic change to Bluetooth Local ends with an event.
  private func returns(after event: Event) -> Bool {
    guard isActive, record.cause == .networkLoss else { return false }
    return switch returnToOn {
    case .never: false
    case .afterRestart: event == .start
    case .whenBack: path == .found
    }
  }

  subscript(service: ComputeService) -> Phase {
    get { service == .phone ? phone : heartbeat }
    set { if service == .phone { phone = newValue } else { heartbeat = newValue } }
  }

  private mutating func take(_ event: Event, _ actions: inout [Action]) {
    switch event {
    case .start:
      if !isActive { actions.append(.log(.applied(record.mode))) }
      isActive = true
    case .shutDown: isActive = false
    case .choose(let mode): choose(mode, &actions)
    case .setRunOnlyWhileCharging(let only): record.runOnlyWhileCharging = only
    case .networkFound:
      if path != .found, record.cause == .networkLoss, returnToOn != .whenBack {
        actions += [.log(.networkReturned), .notify(.networkReturned)]
      }
      path = .found
    case .networkLost(let reason): path = .lost(because: reason)
    case .power(let isExternal): onExternalPower = isExternal
    case .metered(let costs): isMetered = costs
    case .bluetooth(let isThere): hasBluetooth = isThere
    case .started(let service): if self[service] == .starting { self[service] = .running }
    case .ended(let service, let reason): end(service, reason ?? "it ended by itself", &actions)
    case .retry(let service): if case .failed = self[service] { self[service] = .idle }
    }
  }

  private mutating func choose(_ mode: ComputeMode, _ actions: inout [Action]) {
    let chosen = ModeRecord(mode: mode, runOnlyWhileCharging: record.runOnlyWhileCharging)
    if chosen != record { actions.append(.log(.chosen(mode))) }
    record = chosen
    // A choice of a mode whose service has failed tries the service again at once.
    for service in ComputeService.allCases { if case .failed = self[service] { self[service] = .idle } }
  }

  private mutating func end(_ service: ComputeService, _ reason: String, _ actions: inout [Action]) {
    switch self[service] {
    case .stopping: self[service] = .idle
    case .starting, .running:
      self[service] = .failed(because: reason)
      actions += [.log(.failed(service, because: reason)), .retryLater(service)]
    case .idle, .failed: break
    }
  }

  /// Starts and stops services until the wanted one runs.
  private mutating func settle(_ actions: inout [Action]) {
    for service in ComputeService.allCases where service != wanted {
      switch self[service] {
      case .starting, .running:
        self[service] = .stopping
        actions.append(.stop(service))
      case .failed: self[service] = .idle
      case .idle, .stopping: break
      }
    }
    guard let wanted, self[wanted] == .idle, self[wanted.other] == .idle else { return }
    self[wanted] = .starting
    actions.append(.start(wanted))
  }
}
