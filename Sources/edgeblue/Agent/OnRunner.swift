import Agent
import SystemState

/// The service of mode On.
enum OnRunner: ComputeRunner {
  /// Takes part in the swarm.
  case swarm(CoordinatorRunner)
  /// Fails each time: the settings make On impossible, for this reason.
  case impossible(AgentError)

  /// The part of the swarm; `nil` when On is impossible.
  var swarm: CoordinatorRunner? { if case .swarm(let runner) = self { runner } else { nil } }

  /// Reports the status at the coordinator until the task is cancelled.
  func report(to runner: ModeRunner) async {
    guard let swarm else { return }
    // On the thread of the coordinator's connections: a status changes with each heartbeat, which would wake another one.
    await withTaskExecutorPreference(swarm.taskExecutor) {
      for await status in swarm.statuses { await runner.take(status) }
    }
  }

  func run(whenReady: @escaping @Sendable () async -> Void) async throws {
    switch self {
    case .swarm(let runner): try await runner.run(whenReady: whenReady)
    case .impossible(let reason): throw reason
    }
  }
}

/// The surroundings of the service of mode On.
struct SwarmSurroundings: Sendable {
  let power: PowerMonitor
  let network: CoordinatorRunner.Network
}
