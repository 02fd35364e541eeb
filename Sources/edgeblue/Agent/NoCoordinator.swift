import Agent

/// The replacement of the coordinator's runner when no coordinator is configured; it always fails.
struct NoCoordinator: ComputeRunner {
  func run(whenReady: @escaping @Sendable () async -> Void) async throws {
    throw AgentError(
      .notConfigured, "no coordinator is configured", hint: "name one to `edgeblue agent` with --coordinator")
  }
}
