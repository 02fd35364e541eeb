import Agent

/// The service of mode On.
enum OnRunner: ComputeRunner {
  /// Takes part in the swarm.
  case swarm(CoordinatorRunner)
  /// Fails each time: the settings make On impossible, for this reason.
  case impossible(AgentError)

  /// The part of the swarm; `nil` when On is impossible.
  var swarm: CoordinatorRunner? { if case .swarm(let runner) = self { runner } else { nil } }

  func run(whenReady: @escaping @Sendable () async -> Void) async throws {
    switch self {
    case .swarm(let runner): try await runner.run(whenReady: whenReady)
    case .impossible(let reason): throw reason
    }
  }
}
