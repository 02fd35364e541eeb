public import DBus
internal import Streams
public import SystemState

/// A client that reads the status of the agent, and controls it, over the bus.
///
/// ```swift
/// let agent = try await AgentClient.open(on: .system)  // reading does not start an agent that is stopped
/// try await agent.choose(.bluetoothLocal)
/// try await agent.follow { status in print(status.mode, status.runState) }
/// ```
public struct AgentClient: Sendable {
  private let agent: RemoteObject

  /// Connects to a message bus. The first call shows whether an agent runs.
  /// - Throws: `DBusError` when there is no bus.
  public static func open(on bus: Connection.Bus = .system) async throws -> AgentClient {
    AgentClient(agent: RemoteObject(try await Connection.open(bus), AgentBus.name, AgentBus.path))
  }

  /// Returns the present status of the agent; without its reasons, if the bus permits this user no more.
  /// - Throws: ``AgentError``: `.notRunning`, `.unexpectedReply`; `DBusError`; `CancellationError`.
  public func status() async throws -> AgentStatus {
    try AgentStatus(
      properties: try await complete {
        try await agent.call(AgentBus.details, "GetStatus", returning: "a{sv}")[0].properties ?? [:]
      } orElse: {
        try await agent.getAll(AgentBus.interface)
      })
  }

  /// Delivers the present status, and every change of it, until the agent stops.
  ///
  /// Each status is complete and the newest: a slow `body` misses those between.
  /// - Parameter body: The closure that receives each status.
  /// - Throws: The error of `body`; ``AgentError`` with code `.notRunning`, also when the agent has ended;
  ///   `CancellationError`.
  public func follow(_ body: @Sendable (AgentStatus) async throws -> Void) async throws {
    let wake = WakeSignal()
    // The owner of the name changes when an agent starts or stops.
    let rule = MatchRule(
      sender: AgentBus.name, path: AgentBus.path, interface: "org.freedesktop.DBus.Properties",
      member: "PropertiesChanged")
    let changes = try await agent.connection.observe(rule, onEnd: { wake.finish() }) { _ in wake.signal() }
    let owner = try await agent.connection.observeOwner(of: AgentBus.name) { _ in wake.signal() }
    defer {
      changes.cancel()
      owner.cancel()
    }
    var last: AgentStatus?
    wake.signal()
    for await _ in wake.signals {
      let status = try await status()
      if status != last { try await body(status) }
      last = status
    }
    try Task.checkCancellation()
    throw AgentError(.notRunning, "the connection to the bus was lost")
  }

  /// Changes the mode, on behalf of the user.
  /// - Returns: The status after the change.
  /// - Throws: ``AgentError``: `.notRunning`, `.notPermitted`; `DBusError`; `CancellationError`.
  @discardableResult
  public func choose(_ mode: ComputeMode) async throws -> AgentStatus {
    try await asking { try await agent.call(AgentBus.interface, "SetMode", .string(mode.rawValue), returning: "") }
    return try await status()
  }

  /// Does now what the agent would do at its time anyway.
  /// - Throws: The errors of ``choose(_:)``.
  public func push(_ what: CoordinatorPush) async throws {
    try await asking { try await agent.call(AgentBus.interface, "Push", .string(what.rawValue), returning: "") }
  }

  /// Changes the setting that nothing runs without external power.
  /// - Returns: The status after the change.
  /// - Throws: The errors of ``choose(_:)``.
  @discardableResult
  public func setRunOnlyWhileCharging(_ only: Bool) async throws -> AgentStatus {
    try await asking {
      try await agent.call(AgentBus.interface, "SetRunOnlyWhileCharging", .bool(only), returning: "")
    }
    return try await status()
  }

  /// Returns the newest events, the oldest of them first; without their reasons, if the bus permits this user no more.
  /// - Parameter limit: The largest number of events.
  /// - Throws: ``AgentError``: `.notRunning`; `DBusError`; `CancellationError`.
  public func events(limit: Int = EventLog.memoryLimit) async throws -> [AgentEvent] {
    let limit = UInt32(clamping: limit)
    let reply = try await complete {
      try await agent.call(AgentBus.details, "GetEvents", .uint32(limit), returning: "a(txss)")
    } orElse: {
      try await agent.call(AgentBus.interface, "GetEvents", .uint32(limit), returning: "a(txss)")
    }
    return (reply[0].array ?? []).compactMap { value in
      if case .structure(let members) = value { AgentEvent(values: members) } else { nil }
    }
  }

  /// Changes the lifecycle phase, on behalf of the user. When this returns, the choice is on disk.
  /// - Returns: The status after the change.
  /// - Throws: ``AgentError``: `.notRunning`, `.notPermitted`, `.storage`; `DBusError`; `CancellationError`.
  @discardableResult
  public func choose(lifecycle choice: LifecycleChoice) async throws -> AgentStatus {
    try await asking {
      try await agent.call(AgentBus.interface, "SetLifecycle", .string(choice.rawValue), returning: "")
    }
    return try await status()
  }

  /// Returns the status of each background task; without reasons, if the bus permits this user no more.
  /// - Throws: ``AgentError``: `.notRunning`; `DBusError`; `CancellationError`.
  public func tasks() async throws -> [AgentTaskStatus] {
    let reply = try await complete {
      try await agent.call(AgentBus.details, "GetTasks", returning: "aa{sv}")
    } orElse: {
      try await agent.call(AgentBus.tasks, "GetTasks", returning: "aa{sv}")
    }
    return (reply[0].array ?? []).compactMap { $0.properties.flatMap(AgentTaskStatus.init) }
  }

  /// Runs a background task at once, whatever its conditions.
  /// - Parameter identifier: The raw value of an ``AgentTask``.
  /// - Throws: ``AgentError``: `.notRunning`, `.notPermitted`, `.invalidArgument` when there is no such task, `.notNow`
  ///   when one runs; `DBusError`; `CancellationError`.
  public func runTask(_ identifier: String) async throws {
    try await asking { try await agent.call(AgentBus.tasks, "Run", .string(identifier), returning: "") }
  }

  /// Expires a running background task, as at the end of its time budget.
  /// - Parameter identifier: The raw value of an ``AgentTask``.
  /// - Throws: The errors of ``runTask(_:)``, and `.notNow` when the task does not run.
  public func expireTask(_ identifier: String) async throws {
    try await asking { try await agent.call(AgentBus.tasks, "Expire", .string(identifier), returning: "") }
  }

  /// Calls for everything, and for what everybody may read where the bus or an earlier agent permits no more.
  private func complete<R>(
    _ all: () async throws -> R, orElse part: () async throws -> R
  ) async throws -> R {
    // A look starts no agent that the administrator has stopped; a call without an owner would.
    guard try await agent.connection.owner(of: AgentBus.name) != nil else {
      throw AgentError(.notRunning, "no agent runs")
    }
    do {
      return try await all()
    } catch let error as DBusError
      where ["AccessDenied", "UnknownInterface", "UnknownMethod"].contains(error.name.split(separator: ".").last)
    {
      return try await asking(part)
    } catch {
      return try await asking { throw error }
    }
  }

  @discardableResult
  private func asking<R>(_ call: () async throws -> R) async throws -> R {
    do {
      return try await call()
    } catch let error as DBusError {
      switch error.name {
      case AgentBus.notRegistered: throw AgentError(.invalidArgument, error.message)
      case AgentBus.notNow: throw AgentError(.notNow, error.message)
      case AgentBus.storage: throw AgentError(.storage, error.message)
      default: break
      }
      switch error.name.split(separator: ".").last {
      case "ServiceUnknown", "NameHasNoOwner":
        throw AgentError(.notRunning, "no agent runs")
      case "AccessDenied":
        throw AgentError(
          .notPermitted, "the policy of the bus does not permit the call",
          hint: "be root, or a member of the group edgeblue")
      default: throw error
      }
    }
  }
}
