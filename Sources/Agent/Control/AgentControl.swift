public import DBus
internal import SystemState

/// The agent's interfaces on the bus, `io.edgecoder.Agent1`, `io.edgecoder.Tasks1` and `io.edgecoder.AgentDetails1`.
///
/// Every program may read the status without its reasons: those can contain paths, addresses, identifiers and texts of
/// servers. The policy of the bus decides which users may read them too, and control the agent.
///
/// ```swift
/// let control = try await AgentControl.open(runner, tasks: tasks, lifecycle: lifecycle)
/// try await control.run()
/// ```
public final class AgentControl: Sendable {
  private let runner: ModeRunner
  private let tasks: AgentTasks
  private let connection: Connection
  private let object: ExportedObject
  /// The status before the object was exported: every later change is published.
  private let first: AgentStatus

  private init(
    _ runner: ModeRunner, _ tasks: AgentTasks, _ lifecycle: AgentLifecycle, _ connection: Connection
  ) throws {
    self.runner = runner
    self.tasks = tasks
    self.connection = connection
    first = runner.status
    object = try connection.export(
      AgentBus.path,
      [Self.interface(of: runner, lifecycle), Self.interface(of: tasks), Self.details(of: runner, tasks)])
  }

  /// Exports a runner on the bus, with its background tasks and its lifecycle phase.
  /// - Parameters:
  ///   - runner: The runner of the mode.
  ///   - tasks: The background tasks.
  ///   - lifecycle: The lifecycle phase.
  ///   - bus: The bus, by default the system bus.
  /// - Throws: ``AgentError`` with code `.alreadyRunning` when another agent owns the name, and `.notPermitted` when the
  ///   policy of the bus does not permit it; `DBusError` when there is no bus.
  public static func open(
    _ runner: ModeRunner, tasks: AgentTasks, lifecycle: AgentLifecycle, on bus: Connection.Bus = .system
  ) async throws -> AgentControl {
    let connection = try await Connection.open(bus)
    let control = try AgentControl(runner, tasks, lifecycle, connection)
    do {
      switch try await connection.requestName(AgentBus.name) {
      case .owner, .alreadyOwner: return control
      case .taken, .queued:
        throw AgentError(.alreadyRunning, "another agent runs on this bus", hint: "stop it first")
      }
    } catch let error as DBusError where error.name == "org.freedesktop.DBus.Error.AccessDenied" {
      throw AgentError(
        .notPermitted, "the policy of the bus does not let this program be the agent",
        hint: "copy dbus/io.edgecoder.Agent1.conf to /etc/dbus-1/system.d; then root and the group edgeblue may")
    }
  }

  /// Publishes changes and events on the bus, until the task is cancelled or the runner stops.
  /// - Throws: ``AgentError`` with code `.busLost` when the connection to the bus is lost, and the agent cannot be
  ///   controlled any more.
  public func run() async throws {
    let runner = runner
    let tasks = tasks
    let object = object
    let connection = connection
    let first = first
    try await withThrowingTaskGroup(of: Void.self) { group in
      let statuses = runner.statuses()
      let events = runner.log.events()
      // On the thread that sends: a status changes with each heartbeat, which would wake two threads of the pool.
      let sending = connection.executor
      group.addTask(executorPreference: sending) {
        var last = first
        for await status in statuses {
          try Self.publishChanges(in: status, after: last, on: object)
          last = status
        }
      }
      group.addTask(executorPreference: sending) {
        for await event in events { try object.emit(AgentBus.interface, "Event", event.forEverybody.values) }
      }
      group.addTask(executorPreference: sending) {
        for await event in tasks.events {
          if let values = event.values { try object.emit(AgentBus.tasks, "Event", values) }
        }
      }
      group.addTask {
        let reason: DBusError
        do { reason = try await connection.waitUntilClosed() } catch is CancellationError { return }
        throw AgentError(.busLost, "the connection to the bus was lost: \(reason.message)")
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// A change of a reason is published without the reason, for those who may read it.
  private static func publishChanges(
    in status: AgentStatus, after last: AgentStatus, on object: ExportedObject
  ) throws {
    var changed: [String: Value] = [:]
    var gone: [String] = []
    let published = Dictionary(
      uniqueKeysWithValues: status.forEverybody.properties.map { name, _, value in (name, value) })
    for (new, old) in zip(status.properties, last.properties) where new.value != old.value {
      if let value = published[new.name] ?? nil { changed[new.name] = value } else { gone.append(new.name) }
    }
    if !changed.isEmpty || !gone.isEmpty {
      try object.emitPropertiesChanged(AgentBus.interface, changed, invalidated: gone)
    }
  }

  private static func interface(of runner: ModeRunner, _ lifecycle: AgentLifecycle) -> Interface {
    Interface(
      AgentBus.interface,
      methods: [
        .init("SetMode", in: [.init("mode", "s")]) { call in
          let mode: ComputeMode = try call.choice(of: "mode", allowed: "off, on and bluetooth-local")
          if mode == .on { await runner.push(.tasks) }
          await runner.choose(mode)
          return []
        },
        .init("Push", in: [.init("what", "s")]) { call in
          await runner.push(try call.choice(of: "push", allowed: "tasks and uploads"))
          return []
        },
        .init("SetRunOnlyWhileCharging", in: [.init("only", "b")]) { call in
          await runner.setRunOnlyWhileCharging(call.arguments[0].bool ?? false)
          return []
        },
        .init("SetLifecycle", in: [.init("choice", "s")]) { call in
          let choice: LifecycleChoice = try call.choice(of: "phase", allowed: "foreground, background and auto")
          do throws(AgentError) {
            await runner.take(try lifecycle.choose(choice))
          } catch {
            throw DBusError(name: AgentBus.storage, message: error.message)
          }
          return []
        },
        .init("GetEvents", in: [.init("limit", "u")], out: [.init("events", "a(txss)")]) { call in
          let limit = call.arguments[0].integer() ?? 0
          return [.array(of: "(txss)", runner.log.newest(limit).map { .structure($0.forEverybody.values) })]
        },
      ],
      properties: runner.status.properties.map { property in
        .init(property.name, property.type) {
          runner.status.forEverybody.properties.first { $0.name == property.name }?.value
        }
      },
      signals: [.init("Event", [.init("number", "t"), .init("atMs", "x"), .init("kind", "s"), .init("text", "s")])])
  }
}

extension Interface.Call {
  /// Returns the first argument as one of a fixed set of values.
  /// - Throws: `DBusError`, which names the allowed values.
  fileprivate func choice<Choice: RawRepresentable<String>>(of noun: String, allowed: String) throws -> Choice {
    let text = arguments[0].string ?? ""
    guard let choice = Choice(rawValue: text) else {
      throw DBusError(
        name: AgentBus.invalidArgument, message: "the \(noun) is “\(text.prefix(40))”; allowed: \(allowed)")
    }
    return choice
  }
}
