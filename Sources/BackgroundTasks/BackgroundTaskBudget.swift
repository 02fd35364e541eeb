/// The longest durations of runs, by kind of task, and the grace period.
///
/// ```swift
/// let budget = BackgroundTaskBudget(refresh: .seconds(20), processing: .seconds(300), grace: .seconds(3))
/// ```
public struct BackgroundTaskBudget: Sendable, Hashable {
  /// The longest duration of a refresh task; default: 30 s, as on Apple's systems.
  public var refresh: Duration
  /// The longest duration of a processing task; default: 10 min.
  public var processing: Duration
  /// The time between the expiration of a run and its deadline; default: 5 s.
  public var grace: Duration

  /// Creates a budget; a grace period above half of the shorter duration is lowered to that.
  public init(
    refresh: Duration = .seconds(30), processing: Duration = .seconds(600), grace: Duration = .seconds(5)
  ) {
    self.refresh = max(refresh, .milliseconds(2))
    self.processing = max(processing, .milliseconds(2))
    self.grace = min(max(grace, .milliseconds(1)), min(self.refresh, self.processing) / 2)
  }

  func time(for kind: BackgroundTaskRequest.Kind) -> Duration { kind == .refresh ? refresh : processing }
}
