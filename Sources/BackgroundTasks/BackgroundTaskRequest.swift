/// A request to run a task in the background after a delay, when its conditions hold.
///
/// Each identifier has one pending request: a newer one replaces the older one.
///
/// ```swift
/// let request = BackgroundTaskRequest(
///   "org.example.tidy", .processing, delay: .seconds(900), requiresExternalPower: true)
/// ```
public struct BackgroundTaskRequest: Sendable, Hashable {
  /// The kind of work of a task, which determines its time budget.
  public enum Kind: String, Sendable, Hashable, CaseIterable, Codable {
    /// Short work, such as fetching or sending something small.
    case refresh
    /// Long work that takes minutes.
    case processing
  }

  /// The identifier of the task to run, which must have a handler.
  public var identifier: String
  /// The kind of work, which must be that of the handler.
  public var kind: Kind
  /// The shortest time between submitting and running; time asleep counts.
  public var delay: Duration
  /// A Boolean value that indicates whether the task runs only while the host has a default route.
  public var requiresNetwork: Bool
  /// A Boolean value that indicates whether the task runs only on external power.
  public var requiresExternalPower: Bool

  /// Creates a request; by default one without a delay and conditions.
  public init(
    _ identifier: String, _ kind: Kind, delay: Duration = .zero, requiresNetwork: Bool = false,
    requiresExternalPower: Bool = false
  ) {
    self.identifier = identifier
    self.kind = kind
    self.delay = max(delay, .zero)
    self.requiresNetwork = requiresNetwork
    self.requiresExternalPower = requiresExternalPower
  }
}

/// The conditions of the host that decide whether a task may run.
///
/// ```swift
/// func hostChanged(_ scheduler: BackgroundTaskScheduler) async {
///   await scheduler.update(
///     BackgroundConditions(isInBackground: true, hasNetwork: true, onExternalPower: false))
/// }
/// ```
public struct BackgroundConditions: Sendable, Hashable {
  /// A Boolean value that indicates whether the program is in the background; tasks run only then.
  public var isInBackground: Bool
  /// A Boolean value that indicates whether the host is about to sleep; nothing runs then.
  public var isGoingToSleep: Bool
  /// A Boolean value that indicates whether the host has a default route.
  public var hasNetwork: Bool
  /// A Boolean value that indicates whether the host is on external power.
  public var onExternalPower: Bool

  /// Creates conditions; by default none is met, and nothing runs.
  public init(
    isInBackground: Bool = false, isGoingToSleep: Bool = false, hasNetwork: Bool = false, onExternalPower: Bool = false
  ) {
    self.isInBackground = isInBackground
    self.isGoingToSleep = isGoingToSleep
    self.hasNetwork = hasNetwork
    self.onExternalPower = onExternalPower
  }

  /// Returns the unmet condition that keeps a request from running; `nil` if there is none.
  func obstacle(to request: BackgroundTaskRequest) -> ExpirationReason? {
    if isGoingToSleep { return .sleep }
    if !isInBackground { return .foreground }
    if request.requiresNetwork, !hasNetwork { return .networkLost }
    if request.requiresExternalPower, !onExternalPower { return .powerLost }
    return nil
  }
}

/// The reason for the expiration of a run, or for a condition that is not met.
public enum ExpirationReason: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
  /// The time budget of the run is nearly used up.
  case budget
  /// The program has come to the foreground.
  case foreground
  /// The host is about to sleep.
  case sleep
  /// The task requires the network, and the host has no default route.
  case networkLost = "network_lost"
  /// The task requires external power, and the host has none.
  case powerLost = "power_lost"
  /// A user has expired the run.
  case person
  /// The process is about to stop.
  case shutDown = "shut_down"

  /// A Boolean value that indicates whether the run had time left and no user expired it.
  var isInterruption: Bool {
    switch self {
    case .foreground, .sleep, .networkLost, .powerLost, .shutDown: true
    case .budget, .person: false
    }
  }

  /// The reason for the expiration, for display.
  public var description: String {
    switch self {
    case .budget: "its time is nearly over"
    case .foreground: "the program is in the foreground"
    case .sleep: "the host is about to sleep"
    case .networkLost: "it requires the network, and there is no way out"
    case .powerLost: "it requires external power, and there is none"
    case .person: "a person has ended it"
    case .shutDown: "the program ends"
    }
  }
}
