import Agent

/// What stands for the heartbeat when there is no coordinator to send it to.
struct NoCoordinator: ComputeRunner {
  func run(whenReady: @escaping @Sendable () async -> Void) async throws {
    throw AgentError(
      .notConfigured, "there is no coordinator to work for", hint: "name one to `edgeblue agent` with --coordinator")
  }
}
