/// How long tasks may take.
public struct BackgroundTaskBudget: Sendable, Hashable {
  /// The whole time of a task that refreshes; 30 s as on Apple's systems.
  public var refresh: Duration
  /// The whole time of a task that processes. Apple's systems promise "minutes"; this is ten.
  public var processing: Duration
  /// How long before the end of its time a task is told; and how long it has to end whenever it is told.
  public var grace: Duration

  /// Makes a budget; the grace is at most half of the shorter time.
  public init(
    refresh: Duration = .seconds(30), processing: Duration = .seconds(600), grace: Duration = .seconds(5)
  ) {
    self.refresh = max(refresh, .milliseconds(2))
    self.processing = max(processing, .milliseconds(2))
    self.grace = min(max(grace, .milliseconds(1)), min(self.refresh, self.processing) / 2)
  }

  func time(for kind: BackgroundTaskRequest.Kind) -> Duration { kind == .refresh ? refresh : processing }
}
