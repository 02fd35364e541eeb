import Logging
import ServiceLifecycle
import UnixSignals

/// Runs a role's services until Ctrl-C or SIGTERM ends them in the reverse order; what is under way gets ten seconds.
func runUntilStopped(_ services: [any Service]) async throws {
  var configuration = ServiceGroupConfiguration(
    services: services, gracefulShutdownSignals: [.sigint, .sigterm], logger: Logger(label: "edgeblue"))
  configuration.maximumGracefulShutdownDuration = .seconds(10)
  do {
    try await ServiceGroup(configuration: configuration).run()
  } catch is CancellationError {
    // The ten seconds ran out: the role has ended all the same.
  }
}

/// Runs something that ends by itself; Ctrl-C and SIGTERM cancel it and wait for it to clean up.
/// - Throws: what `work` throws, or `CancellationError`.
func untilInterrupted<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
  let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
  return try await withThrowingTaskGroup(of: Value.self) { group in
    group.addTask(operation: work)
    group.addTask {
      for await _ in signals { throw CancellationError() }
      throw CancellationError()
    }
    defer { group.cancelAll() }
    guard let value = try await group.next() else { throw CancellationError() }
    return value
  }
}

/// A service made of two closures: what runs, and what cleans up after it.
struct Role: Service {
  let work: @Sendable () async throws -> Void
  var cleanUp: @Sendable () async throws -> Void = {}

  func run() async throws {
    do {
      try await cancelWhenGracefulShutdown(work)
    } catch is CancellationError {
      // Asked to stop: that is how a role ends.
    } catch {
      try await cleanUp()
      throw error
    }
    try await cleanUp()
  }
}
