/// What does the work of a ``ComputeService``, for a ``ModeRunner``.
///
/// The phone and the heartbeat belong to other libraries; who composes a program gives them to the agent as this.
public protocol ComputeRunner: Sendable {
  /// Works until the task is cancelled; then takes down what it put up, and returns or throws soon.
  /// - Parameter whenReady: to be called when it works, and not before. The first call counts.
  /// - Throws: why it cannot work, or no longer; the text is for a person. It is then run again after a while.
  func run(whenReady: @escaping @Sendable () async -> Void) async throws
}
