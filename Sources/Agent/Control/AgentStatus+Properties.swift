internal import DBus
internal import NetworkPath
internal import SystemState

extension AgentStatus {
  typealias Property = (name: String, type: Signature, value: Value?)

  /// The properties of `io.edgecoder.Agent1`, each with its type, and with its value if it has one.
  var properties: [Property] {
    // In parts: a literal of all of them takes the compiler of Swift 6.2 too long.
    let parts = [
      modeProperties, circumstances, coordinatorProperties, uploadProperties, SpeedTestLoopStatus.properties(of: loop),
      CoverageMeasurementStatus.properties(of: coverage), journalProperties,
    ]
    return parts.flatMap { $0 }
  }

  private var modeProperties: [Property] {
    [
      ("Mode", "s", .string(mode.rawValue)),
      ("Cause", "s", .string(cause.rawValue)),
      ("ChosenMode", "s", .string(chosenMode.rawValue)),
      ("RunOnlyWhileCharging", "b", .bool(runOnlyWhileCharging)),
      ("RunState", "s", .string(runState.name)),
      ("RunStateReason", "s", runState.reason.map(Value.string)),
    ]
  }

  private var circumstances: [Property] {
    [
      ("Lifecycle", "s", lifecycle.map { .string($0.phase.rawValue) }),
      ("LifecycleReason", "s", lifecycle.map { .string($0.reason.rawValue) }),
      ("LifecycleChoice", "s", lifecycle.map { .string($0.choice.rawValue) }),
      ("Network", "s", network.map { .string($0.status.rawValue) }),
      ("NetworkReason", "s", network?.reason.map(Value.string)),
      ("NetworkInterface", "s", network?.interface.map(Value.string)),
      ("NetworkMetered", "b", network.map { .bool($0.isMetered) }),
      ("OnExternalPower", "b", power.map { .bool($0.onExternalPower) }),
      ("BatteryLevelPct", "i", power?.batteryLevelPct.map { .int32(Int32($0)) }),
      ("LowPowerMode", "b", power.map { .bool($0.lowPowerMode) }),
      ("PowerUpdatedAtMs", "x", power.map { .int64($0.updatedAtMs) }),
    ]
  }

  private var coordinatorProperties: [Property] {
    [
      ("Coordinator", "s", coordinator.flatMap { $0.address.isEmpty ? nil : .string($0.address) }),
      ("AgentId", "s", coordinator.flatMap { $0.agentID.isEmpty ? nil : .string($0.agentID) }),
      ("Registered", "b", coordinator.map { .bool($0.isRegistered) }),
      ("LastHeartbeatAtMs", "x", coordinator?.lastHeartbeatAtMs.map(Value.int64)),
      ("NextHeartbeatAtMs", "x", coordinator?.nextHeartbeatAtMs.map(Value.int64)),
      ("CoordinatorProblem", "s", coordinator?.problem.map(Value.string)),
      ("UnreachableSinceMs", "x", coordinator?.health.unreachableSinceMs.map(Value.int64)),
      ("UnreachableBecause", "s", coordinator?.health.unreachableBecause.map { .string($0.rawValue) }),
      ("Working", "b", coordinator.map { .bool($0.isWorking) }),
      ("HeldBecause", "s", coordinator?.heldBecause.map(Value.string)),
      ("Jobs", "a{st}", coordinator.map { .counts($0.jobs) }),
      ("DropReasons", "a{st}", coordinator.map { .counts($0.dropReasons) }),
    ]
  }

  private var uploadProperties: [Property] {
    [
      ("Uploads", "a{st}", uploads.map { .counts($0.items) }),
      ("UploadBytesLeft", "t", uploads.map { .uint64(UInt64(clamping: $0.bytesLeft)) }),
      ("UploadOldestAtMs", "x", uploads?.oldestAtMs.map(Value.int64)),
      ("UploadsPaused", "b", uploads.map { .bool($0.isPaused) }),
      ("UploadCounters", "a{st}", uploads.map { .counts($0.counters) }),
      ("UploadFailures", "a{st}", uploads.map { .counts($0.failures) }),
      ("UploadProblem", "s", uploads?.problem.map(Value.string)),
    ]
  }

  private var journalProperties: [Property] {
    [
      ("Counters", "a{st}", .counts(counters.byName)),
      ("LastFailure", "s", lastFailure.map(Value.string)),
      ("StorageProblem", "s", storageProblem.map(Value.string)),
      ("EventCount", "t", .uint64(UInt64(eventCount))),
    ]
  }

  /// Creates a status from D-Bus properties.
  /// - Throws: ``AgentError`` with code `.unexpectedReply` when a required property is missing or has an unknown value.
  init(properties: [String: Value]) throws(AgentError) {
    func text(_ name: String) -> String? { properties[name]?.string }
    func need<T>(_ name: String, _ value: T?) throws(AgentError) -> T {
      guard let value else {
        throw AgentError(
          .unexpectedReply, "the agent's property \(name) is \(properties[name].map { "\($0)" } ?? "missing")",
          hint: "it may be of another version")
      }
      return value
    }
    let mode = try need("Mode", text("Mode").flatMap(ComputeMode.init))
    let cause = try need("Cause", text("Cause").flatMap(ModeRecord.Cause.init))
    let only = try need("RunOnlyWhileCharging", properties["RunOnlyWhileCharging"]?.bool)
    let runState = try need(
      "RunState", text("RunState").flatMap { RunState(name: $0, reason: text("RunStateReason")) })
    self.init(mode: mode, cause: cause, runOnlyWhileCharging: only, runState: runState)
    if let phase = text("Lifecycle").flatMap(AppLifecycle.init),
      let reason = text("LifecycleReason").flatMap(LifecycleReason.init),
      let choice = text("LifecycleChoice").flatMap(LifecycleChoice.init)
    {
      lifecycle = LifecycleSnapshot(phase: phase, reason: reason, choice: choice)
    }
    network = text("Network").flatMap(PathSnapshot.Status.init).map {
      Network(status: $0, reason: text("NetworkReason"), interface: text("NetworkInterface"))
    }
    network?.isMetered = properties["NetworkMetered"]?.bool ?? false
    power = properties["OnExternalPower"]?.bool.map {
      PowerTelemetry(
        onExternalPower: $0, batteryLevelPct: properties["BatteryLevelPct"]?.integer(),
        lowPowerMode: properties["LowPowerMode"]?.bool ?? false,
        updatedAtMs: properties["PowerUpdatedAtMs"]?.integer() ?? 0)
    }
    coordinator = CoordinatorStatus(properties: properties)
    uploads = UploadsStatus(properties: properties)
    loop = SpeedTestLoopStatus(properties: properties)
    coverage = CoverageMeasurementStatus(properties: properties)
    let counts = properties["Counters"]?.counts ?? [:]
    counters.downgrades = counts["downgrades", default: 0]
    counters.starts = counts["starts", default: 0]
    counters.failures = counts["failures", default: 0]
    counters.savesFailed = counts["savesFailed", default: 0]
    lastFailure = text("LastFailure")
    storageProblem = text("StorageProblem")
    eventCount = properties["EventCount"]?.integer() ?? 0
  }
}

extension AgentStatus.Counters {
  fileprivate var byName: [String: Int] {
    ["downgrades": downgrades, "starts": starts, "failures": failures, "savesFailed": savesFailed]
  }
}

extension RunState {
  static let names = ["stopped", "blocked", "starting", "running", "stopping", "failed"]

  /// The name of the state, for programs.
  public var name: String {
    switch self {
    case .stopped: "stopped"
    case .blocked: "blocked"
    case .starting: "starting"
    case .running: "running"
    case .stopping: "stopping"
    case .failed: "failed"
    }
  }

  /// The reason of the state: the raw value of a ``ModeMachine/Block``, or a text for display; `nil` if it has none.
  public var reason: String? {
    switch self {
    case .blocked(let block): block.rawValue
    case .failed(let reason): reason
    case .stopped, .starting, .running, .stopping: nil
    }
  }

  init?(name: String, reason: String?) {
    let plain: [RunState] = [.stopped, .starting, .running, .stopping]
    if let state = plain.first(where: { $0.name == name }) {
      self = state
    } else if name == "failed" {
      self = .failed(because: reason ?? "the reason is unknown")
    } else if name == "blocked", let block = reason.flatMap(ModeMachine.Block.init) {
      self = .blocked(block)
    } else {
      return nil
    }
  }
}
