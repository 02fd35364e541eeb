/// A wish to have a task run in the background, when its time has come and its conditions hold.
///
/// There is one pending request per identifier: a newer one takes the older one's place.
public struct BackgroundTaskRequest: Sendable, Hashable {
  /// What sort of work a task does, which decides how long it may take.
  public enum Kind: String, Sendable, Hashable, CaseIterable, Codable {
    /// A short look: fetch or send something small.
    case refresh
    /// Work of minutes.
    case processing
  }

  /// The task to run; a handler is registered for it.
  public var identifier: String
  /// What sort of work it does; that of its handler.
  public var kind: Kind
  /// How long to wait at least, from the moment it is submitted. Time during which the machine sleeps counts.
  public var delay: Duration
  /// Whether it runs only while there is a way out to the network.
  public var requiresNetwork: Bool
  /// Whether it runs only on external power.
  public var requiresExternalPower: Bool

  /// Makes a request; by default one that may run at once and anywhere.
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

/// What of the machine's state decides whether a task may run.
public struct BackgroundConditions: Sendable, Hashable {
  /// Whether the program is in the background. Tasks run only then.
  public var isInBackground: Bool
  /// Whether the machine is about to sleep. Then nothing runs, also by hand.
  public var isGoingToSleep: Bool
  /// Whether there is a way out to the network.
  public var hasNetwork: Bool
  /// Whether the machine is on external power.
  public var onExternalPower: Bool

  /// By default nothing is there: nothing runs before the conditions are known.
  public init(
    isInBackground: Bool = false, isGoingToSleep: Bool = false, hasNetwork: Bool = false, onExternalPower: Bool = false
  ) {
    self.isInBackground = isInBackground
    self.isGoingToSleep = isGoingToSleep
    self.hasNetwork = hasNetwork
    self.onExternalPower = onExternalPower
  }

  /// What keeps a request from running; `nil` when nothing does.
  func obstacle(to request: BackgroundTaskRequest) -> ExpirationReason? {
    if isGoingToSleep { return .sleep }
    if !isInBackground { return .foreground }
    if request.requiresNetwork, !hasNetwork { return .networkLost }
    if request.requiresExternalPower, !onExternalPower { return .powerLost }
    return nil
  }
}

/// Why a task is told to come to its end.
public enum ExpirationReason: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
  /// Its time is nearly over.
  case budget
  /// The program has come to the foreground.
  case foreground
  /// The machine is about to sleep.
  case sleep
  /// It requires the network, and there is no way out any more.
  case networkLost = "network_lost"
  /// It requires external power, and that is gone.
  case powerLost = "power_lost"
  /// A person wants it.
  case person
  /// The program ends.
  case shutDown = "shut_down"

  /// Whether the task was stopped though it had time left and nobody wanted it to stop.
  var isInterruption: Bool {
    switch self {
    case .foreground, .sleep, .networkLost, .powerLost, .shutDown: true
    case .budget, .person: false
    }
  }

  /// The reason in words.
  public var description: String {
    switch self {
    case .budget: "its time is nearly over"
    case .foreground: "the program is in the foreground"
    case .sleep: "the machine is about to sleep"
    case .networkLost: "it requires the network, and there is no way out"
    case .powerLost: "it requires external power, and there is none"
    case .person: "a person has ended it"
    case .shutDown: "the program ends"
    }
  }
}
