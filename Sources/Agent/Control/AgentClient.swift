public import DBus
internal import Streams
public import SystemState

/// The agent as another program sees it, over the bus.
public struct AgentClient: Sendable {
  private let agent: RemoteObject

  /// Connects; whether an agent runs shows the first call.
  /// - Throws: `DBusError` when there is no bus.
  public static func open(on bus: Connection.Bus = .system) async throws -> AgentClient {
    AgentClient(agent: RemoteObject(try await Connection.open(bus), AgentBus.name, AgentBus.path))
  }

  /// What the agent does now.
  /// - Throws: ``AgentError``: `.notRunning`, `.unexpectedReply`; `DBusError`; `CancellationError`.
  public func status() async throws -> AgentStatus {
    try AgentStatus(properties: try await asking { try await agent.getAll(AgentBus.interface) })
  }

  /// The status now, and again whenever it changes, until the agent ends.
  ///
  /// Each is whole and the newest there is: who reads slowly misses some between.
  /// - Parameter body: gets each.
  /// - Throws: what `body` throws; ``AgentError`` with code `.notRunning`, also when the agent has ended;
  ///   `CancellationError`.
  public func follow(_ body: @Sendable (AgentStatus) async throws -> Void) async throws {
    let (news, source) = BoundedStream.make(of: Void.self, limit: 1)
    // Whose signals the properties' are; without an agent, nobody's.
    let rule = MatchRule(
      sender: AgentBus.name, path: AgentBus.path, interface: "org.freedesktop.DBus.Properties",
      member: "PropertiesChanged")
    let changes = try await agent.connection.observe(rule, onEnd: { source.finish() }) { _ in source.yield(()) }
    let owner = try await agent.connection.observeOwner(of: AgentBus.name) { _ in source.yield(()) }
    defer {
      changes.cancel()
      owner.cancel()
    }
    var last: AgentStatus?
    source.yield(())
    for await _ in news {
      let status = try await status()
      if status != last { try await body(status) }
      last = status
    }
    try Task.checkCancellation()
    throw AgentError(.notRunning, "the bus has gone")
  }

  /// Chooses a mode, for a person.
  /// - Returns: what came of it.
  /// - Throws: ``AgentError``: `.notRunning`, `.notPermitted`; `DBusError`; `CancellationError`.
  @discardableResult
  public func choose(_ mode: ComputeMode) async throws -> AgentStatus {
    try await asking { try await agent.call(AgentBus.interface, "SetMode", .string(mode.rawValue), returning: "") }
    return try await status()
  }

  /// Sets whether nothing runs without external power; throws as ``choose(_:)``.
  /// - Returns: what came of it.
  @discardableResult
  public func setRunOnlyWhileCharging(_ only: Bool) async throws -> AgentStatus {
    try await asking {
      try await agent.call(AgentBus.interface, "SetRunOnlyWhileCharging", .bool(only), returning: "")
    }
    return try await status()
  }

  /// The newest events, the oldest of them first.
  /// - Parameter limit: how many at most.
  /// - Throws: ``AgentError``: `.notRunning`; `DBusError`; `CancellationError`.
  public func events(limit: Int = EventLog.memoryLimit) async throws -> [AgentEvent] {
    let limit = UInt32(clamping: limit)
    let reply = try await asking {
      try await agent.call(AgentBus.interface, "GetEvents", .uint32(limit), returning: "a(txss)")
    }
    return (reply[0].array ?? []).compactMap { value in
      if case .structure(let members) = value { AgentEvent(values: members) } else { nil }
    }
  }

  /// Chooses the phase, for a person; it is on disk when this returns.
  /// - Returns: what came of it.
  /// - Throws: ``AgentError``: `.notRunning`, `.notPermitted`, `.storage`; `DBusError`; `CancellationError`.
  @discardableResult
  public func choose(lifecycle choice: LifecycleChoice) async throws -> AgentStatus {
    try await asking {
      try await agent.call(AgentBus.interface, "SetLifecycle", .string(choice.rawValue), returning: "")
    }
    return try await status()
  }

  /// The background tasks, and how they go.
  /// - Throws: ``AgentError``: `.notRunning`; `DBusError`; `CancellationError`.
  public func tasks() async throws -> [AgentTaskStatus] {
    let reply = try await asking { try await agent.call(AgentBus.tasks, "GetTasks", returning: "aa{sv}") }
    return (reply[0].array ?? []).compactMap { $0.properties.flatMap(AgentTaskStatus.init) }
  }

  /// Runs a background task at once, whatever it requires.
  /// - Throws: ``AgentError``: `.notRunning`, `.notPermitted`, `.invalidArgument` when there is no such task, `.notNow`
  ///   when one runs; `DBusError`; `CancellationError`.
  public func runTask(_ identifier: String) async throws {
    try await asking { try await agent.call(AgentBus.tasks, "Run", .string(identifier), returning: "") }
  }

  /// Tells a background task that runs to come to its end; throws as ``runTask(_:)``, `.notNow` when it does not run.
  public func expireTask(_ identifier: String) async throws {
    try await asking { try await agent.call(AgentBus.tasks, "Expire", .string(identifier), returning: "") }
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
        throw AgentError(.notRunning, "no agent runs", hint: "start it: `edgeblue agent`")
      case "AccessDenied":
        throw AgentError(
          .notPermitted, "the bus does not permit it", hint: "be root, or a member of the group edgeblue")
      default: throw error
      }
    }
  }
}
