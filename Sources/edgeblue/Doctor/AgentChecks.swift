import Agent
import DBus
import NetworkPath
import SystemState

/// The checks of the agent and of what it depends on besides Bluetooth: the network, the power and the coordinator.
enum AgentChecks {
  static func findings(on bus: Connection.Bus = .system) async -> [Finding] {
    async let network = network()
    async let power = power()
    async let agent = agent(on: bus)
    return await [network, power] + agent
  }

  private static func network() async -> Finding {
    do {
      let path = try await NetworkPathMonitor.start(.withNetworkManager).path
      let cost = path.isExpensive ? "; it is metered" : ""
      guard path.status == .satisfied else {
        return Finding("network", .warn, path.headline, fix: "only mode On, uploads and speed tests need a network")
      }
      return Finding("network", .ok, path.headline + cost)
    } catch {
      return Finding("network", .warn, Failure(error).message)
    }
  }

  private static func power() async -> Finding {
    do {
      let monitor = try await PowerMonitor.start()
      defer { monitor.close() }
      let power = monitor.telemetry
      let level = power.batteryLevelPct.map { ", battery level \($0) %" } ?? ""
      guard !power.lowPowerMode else {
        return Finding(
          "power", .warn, "power saver is on\(level): no work is requested",
          fix: "powerprofilesctl set balanced, if work is to be done")
      }
      return Finding("power", .ok, (power.onExternalPower ? "external power" : "battery power") + level)
    } catch {
      return Finding("power", .warn, Failure(error).message)
    }
  }

  private static func agent(on bus: Connection.Bus) async -> [Finding] {
    if let failure = await AgentUnit.failure(on: bus) {
      return [Finding("agent", .fail, failure.message, fix: failure.hint)]
    }
    do {
      return findings(of: try await AgentClient.open(on: bus).status())
    } catch {
      let failure = Failure(error)
      return [Finding("agent", .warn, failure.message, fix: failure.hint)]
    }
  }

  /// Returns the findings of a running agent.
  static func findings(of status: AgentStatus) -> [Finding] {
    let hasFailed = if case .failed = status.runState { true } else { false }
    let agent = Finding("agent", hasFailed ? .fail : .ok, "\(status.mode): \(status.runState)")
    guard let coordinator = status.coordinator else { return [agent] }
    if let problem = coordinator.problem {
      return [
        agent,
        Finding(
          "coordinator", .warn, problem, fix: "`edgeblue status` has the next attempt; `edgeblue mode on` asks now"),
      ]
    }
    let held = coordinator.heldDescription.map { "; no task is requested: \($0)" } ?? ""
    return [
      agent,
      Finding("coordinator", .ok, (coordinator.isRegistered ? "registered" : "not registered yet") + held),
    ]
  }
}
