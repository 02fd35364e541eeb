import Agent
import DBus
import Timing

/// The control of an agent over a message bus, which may start after the agent.
struct LateControl: Sendable {
  /// The interval at which the bus is looked for: 2 s.
  private static let interval: Duration = .seconds(2)

  private let connect: @Sendable () async throws -> AgentControl
  private let terminal: Terminal
  /// The control; `nil` without a bus at the start.
  private let first: AgentControl?

  /// Exports the agent on its bus, and says so if there is none.
  /// - Throws: what `AgentControl.open` throws, unless there is no bus.
  static func open(
    _ runner: ModeRunner, _ tasks: AgentTasks, _ lifecycle: AgentLifecycle, on bus: Connection.Bus,
    _ terminal: Terminal
  ) async throws -> LateControl {
    let connect: @Sendable () async throws -> AgentControl = {
      try await AgentControl.open(runner, tasks: tasks, lifecycle: lifecycle, on: bus)
    }
    do {
      return LateControl(connect: connect, terminal: terminal, first: try await connect())
    } catch let error as DBusError where error.code == .connectFailed {
      terminal.happened(
        "no message bus: \(error.message.printable); the agent keeps its mode, and can be controlled once there is one",
        "noBus", ["reason": .string(error.message)])
      return LateControl(connect: connect, terminal: terminal, first: nil)
    }
  }

  /// Exports the agent if it was not, as soon as there is a bus, and publishes its changes until the task is cancelled.
  /// - Throws: what `AgentControl.run()` throws, and what the export throws, unless there is no bus.
  func run() async throws {
    if let first { return try await first.run() }
    while true {
      try await Task.sleep(for: Self.interval, clock: .steady)
      do {
        let control = try await connect()
        terminal.happened("a message bus is there: the agent can be controlled", "bus")
        return try await control.run()
      } catch let error as DBusError where error.code == .connectFailed {
        continue
      }
    }
  }
}
