/// The phase of a program: in the foreground, in the background, or about to sleep with the host.
public enum AppLifecycle: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
  /// The user uses the host, or the program has no session to follow.
  case foreground
  /// The user does not use the host. Background tasks run only in this phase.
  case background
  /// The host is about to sleep: work under way must finish within seconds.
  case suspending

  /// The name of the phase for display.
  public var description: String { rawValue }
}

/// The phase that the user has chosen; the raw value is for files and programs.
///
/// ```swift
/// let monitor = try await LifecycleMonitor.start()
/// monitor.choose(.background)
/// print(monitor.snapshot.phase)  // background, unless the host is about to sleep
/// ```
public enum LifecycleChoice: String, Sendable, Hashable, CaseIterable, Codable {
  /// The system decides; a program without a session is in the ``AppLifecycle/foreground``.
  case auto
  /// The user has chosen ``AppLifecycle/foreground``, which holds except while the host is about to sleep.
  case foreground
  /// The user has chosen ``AppLifecycle/background``, which holds except while the host is about to sleep.
  case background
}

/// The reason for the phase of a program.
public enum LifecycleReason: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
  // The raw value is in files and in the agent's D-Bus interface.
  /// The user has chosen the phase.
  case user = "person"
  /// The program has no session to follow, like a system service, or no logind runs.
  case headless
  /// The program's session is the active one of its seat.
  case active
  /// Another session, or none, is the active one of the seat.
  case inactive
  /// The session is locked by the user or its desktop.
  case locked
  /// The session is idle: the user has given no input for a while.
  case idle
  /// logind has announced that the host will sleep.
  case sleep

  /// The reason for display, such as "the session is locked".
  public var description: String {
    switch self {
    case .user: "the user has chosen it"
    case .headless: "there is no session to follow"
    case .active: "the session is active"
    case .inactive: "the session is not active"
    case .locked: "the session is locked"
    case .idle: "the session is idle"
    case .sleep: "the host is about to sleep"
    }
  }
}

/// The phase of a program at one instant, and its reason.
///
/// ```swift
/// let snapshot = LifecycleSnapshot(phase: .background, reason: .locked)
/// print(snapshot.phase, "because", snapshot.reason)  // background because the session is locked
/// ```
public struct LifecycleSnapshot: Sendable, Hashable {
  /// The phase of the program.
  public var phase: AppLifecycle
  /// The reason for the phase.
  public var reason: LifecycleReason
  /// The phase that the user has chosen.
  public var choice: LifecycleChoice

  /// Creates a snapshot from its parts, for tests.
  public init(phase: AppLifecycle, reason: LifecycleReason, choice: LifecycleChoice = .auto) {
    self.phase = phase
    self.reason = reason
    self.choice = choice
  }
}

/// A snapshot that differs from the snapshot before it.
public struct LifecycleUpdate: Sendable, Hashable {
  /// The number of the update, counted from 1 by each monitor; a gap means that a slow reader lost the updates between.
  public var number: Int
  /// The phase after the change.
  public var snapshot: LifecycleSnapshot

  /// Creates an update from its parts, for tests.
  public init(number: Int, snapshot: LifecycleSnapshot) {
    self.number = number
    self.snapshot = snapshot
  }
}
