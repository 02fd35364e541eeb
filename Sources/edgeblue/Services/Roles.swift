import Logging
import ServiceLifecycle
import Timing
import UnixSignals

/// Runs the services of a command until one of ``StopSignals`` stops them in reverse order, within 10 s, or until a ``Role``
/// has done its work. That another service ends by itself is an error.
func runUntilStopped(_ services: [any Service]) async throws {
  var configuration = ServiceGroupConfiguration(
    services: services.map {
      .init(service: $0, successTerminationBehavior: $0 is Role ? .gracefullyShutdownGroup : .cancelGroup)
    },
    gracefulShutdownSignals: StopSignals.all, logger: Logger(label: "edgeblue"))
  configuration.maximumGracefulShutdownDuration = .seconds(10)
  do {
    try await ServiceGroup(configuration: configuration).run()
  } catch is CancellationError {
    // The 10 s have passed; the role has ended anyway.
  }
}

/// Runs work that ends by itself; one of ``StopSignals`` cancels it, and this waits until it has cleaned up.
/// - Throws: what `work` throws, or `CancellationError`.
func untilInterrupted<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
  let signals = await UnixSignalsSequence(trapping: StopSignals.all)
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

/// Runs work that ``StopSignals`` cancel, and returns its result also then: it contains what was done until then.
func untilInterruptedKeeping<Value: Sendable>(
  _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  let running = Task { try await work() }
  let signals = Task {
    do {
      try await untilInterrupted { try await Task.sleep(for: .seconds(86_400), clock: .steady) }
    } catch is CancellationError where !Task.isCancelled {
      running.cancel()
    }
  }
  defer { signals.cancel() }
  return try await running.value
}

/// A service of two closures: its work, and the clean-up after it.
struct Role: Service {
  let work: @Sendable () async throws -> Void
  var cleanUp: @Sendable () async throws -> Void = {}

  func run() async throws {
    do {
      try await cancelWhenGracefulShutdown(work)
    } catch is CancellationError {
      // A stopped role ends like this.
    } catch {
      try await cleanUp()
      throw error
    }
    try await cleanUp()
  }
}
