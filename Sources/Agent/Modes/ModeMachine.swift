/// Decides what runs: the compute mode, what changes it, and what it starts and stops. Does nothing itself and has no
/// clock.
///
/// Four rules hold in every state:
///
/// 1. Only a person goes to ``ComputeMode/on``. By itself the mode goes from there to ``ComputeMode/bluetoothLocal``,
///    when there is no way out, and nowhere else.
/// 2. At most one of the two services is started at a time: the next one starts when the one before has ended.
/// 3. ``runState`` is ``RunState/running`` only while the service of the mode has said that it works.
/// 4. With ``ModeRecord/runOnlyWhileCharging`` nothing starts, and nothing goes on, unless external power is known to be
///    there.
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

  /// What is kept on disk.
  public private(set) var record: ModeRecord
  private(set) var isActive = false
  private(set) var path = Path.unknown
  /// `nil` before it is known.
  private(set) var onExternalPower: Bool?
  private(set) var phone = Phase.idle
  private(set) var heartbeat = Phase.idle

  /// Begins with what was restored; ``Event/start`` applies it.
  public init(_ record: ModeRecord) {
    self.record = ModeRecord(
      mode: record.mode, cause: record.cause, runOnlyWhileCharging: record.runOnlyWhileCharging)
  }

  /// Takes in an event.
  /// - Returns: what is to be done, in this order.
  public mutating func handle(_ event: Event) -> [Effect] {
    let before = (record: record, block: block)
    var effects: [Effect] = []
    take(event, &effects)
    if isActive, record.mode == .on, case .lost(let reason) = path {
      (record.mode, record.cause) = (.bluetoothLocal, .networkLoss)
      effects.append(.log(.downgraded(because: reason)))
    }
    // First of all: what is done next must not outlive a crash that this would not.
    if record != before.record { effects.insert(.persist(record), at: 0) }
    if let block, block != before.block { effects.append(.log(.blocked(block))) }
    if before.block != nil, wanted != nil { effects.append(.log(.unblocked)) }
    settle(&effects)
    return effects
  }

  /// What is to run now.
  var wanted: ComputeService? {
    guard isActive, block == nil else { return nil }
    return switch record.mode {
    case .off: nil
    case .on: .heartbeat
    case .bluetoothLocal: .phone
    }
  }

  /// Why nothing runs, though the mode is not Off.
  public var block: Block? {
    guard isActive, record.mode != .off, record.runOnlyWhileCharging, onExternalPower != true else { return nil }
    return onExternalPower == nil ? .powerUnknown : .notCharging
  }

  subscript(service: ComputeService) -> Phase {
    get { service == .phone ? phone : heartbeat }
    set { if service == .phone { phone = newValue } else { heartbeat = newValue } }
  }

  private mutating func take(_ event: Event, _ effects: inout [Effect]) {
    switch event {
    case .start:
      if !isActive { effects.append(.log(.applied(record.mode))) }
      isActive = true
    case .shutDown: isActive = false
    case .choose(let mode): choose(mode, &effects)
    case .setRunOnlyWhileCharging(let only): record.runOnlyWhileCharging = only
    case .networkFound:
      if path != .found, record.cause == .networkLoss {
        effects += [.log(.networkReturned), .notify(.networkReturned)]
      }
      path = .found
    case .networkLost(let reason): path = .lost(because: reason)
    case .power(let isExternal): onExternalPower = isExternal
    case .started(let service): if self[service] == .starting { self[service] = .running }
    case .ended(let service, let reason): end(service, reason ?? "it ended by itself", &effects)
    case .retry(let service): if case .failed = self[service] { self[service] = .idle }
    }
  }

  private mutating func choose(_ mode: ComputeMode, _ effects: inout [Effect]) {
    let chosen = ModeRecord(mode: mode, runOnlyWhileCharging: record.runOnlyWhileCharging)
    if chosen != record { effects.append(.log(.chosen(mode))) }
    record = chosen
    // Who chooses what has failed wants it tried again.
    for service in ComputeService.allCases { if case .failed = self[service] { self[service] = .idle } }
  }

  private mutating func end(_ service: ComputeService, _ reason: String, _ effects: inout [Effect]) {
    switch self[service] {
    case .stopping: self[service] = .idle
    case .starting, .running:
      self[service] = .failed(because: reason)
      effects += [.log(.failed(service, because: reason)), .retryLater(service)]
    case .idle, .failed: break
    }
  }

  /// Brings what runs nearer to what is to run.
  private mutating func settle(_ effects: inout [Effect]) {
    for service in ComputeService.allCases where service != wanted {
      switch self[service] {
      case .starting, .running:
        self[service] = .stopping
        effects.append(.stop(service))
      case .failed: self[service] = .idle
      case .idle, .stopping: break
      }
    }
    guard let wanted, self[wanted] == .idle, self[wanted.other] == .idle else { return }
    self[wanted] = .starting
    effects.append(.start(wanted))
  }
}
