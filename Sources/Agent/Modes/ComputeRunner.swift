/// A service that does the work of a ``ComputeService`` for a ``ModeRunner``.
///
/// The phone and the heartbeat belong to other libraries; the program that composes them passes them to the agent.
///
/// ```swift
/// struct Idle: ComputeRunner {
///   func run(whenReady: @escaping @Sendable () async -> Void) async throws {
///     await whenReady()
///     try await Task.sleep(for: .seconds(3600))
///   }
/// }
/// ```
public protocol ComputeRunner: Sendable {
  /// Works until the task is cancelled; then releases its resources, and returns or throws soon.
  /// - Parameter whenReady: A closure to call as soon as the service works. Only the first call counts.
  /// - Throws: The reason why the service cannot work, for display. It is then run again after a delay.
  func run(whenReady: @escaping @Sendable () async -> Void) async throws
}
