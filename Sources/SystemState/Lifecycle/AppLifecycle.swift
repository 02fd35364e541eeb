/// Where a program stands: before a person's eyes, behind them, or about to be put to sleep with the machine.
public enum AppLifecycle: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
  /// A person uses the machine, or nobody could tell: where there is no session, a program is in the foreground.
  case foreground
  /// Nobody looks. Background tasks run only now.
  case background
  /// The machine is about to sleep: what is under way is to end within seconds.
  case suspending

  /// The phase in words.
  public var description: String { rawValue }
}

/// What a person wants the phase to be. The raw value is for files and programs.
public enum LifecycleChoice: String, Sendable, Hashable, CaseIterable, Codable {
  /// What the system says; where it says nothing, ``AppLifecycle/foreground``.
  case auto
  /// ``AppLifecycle/foreground``, but while the machine is about to sleep.
  case foreground
  /// ``AppLifecycle/background``, but while the machine is about to sleep.
  case background
}

/// Why the phase is what it is.
public enum LifecycleReason: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
  /// A person chose it.
  case person
  /// There is no session to follow, as for a system service, or no logind.
  case headless
  /// The program's session is the one in use.
  case active
  /// Another session is, or none.
  case inactive
  /// The session is locked.
  case locked
  /// The person has not touched anything for a while.
  case idle
  /// logind has announced that the machine will sleep.
  case sleep

  /// The reason in words, for a person.
  public var description: String {
    switch self {
    case .person: "a person has chosen it"
    case .headless: "there is no session to follow"
    case .active: "the session is in use"
    case .inactive: "the session is not the one in use"
    case .locked: "the session is locked"
    case .idle: "the session is idle"
    case .sleep: "the machine is about to sleep"
    }
  }
}

/// The phase at one moment, and why.
public struct LifecycleSnapshot: Sendable, Hashable {
  /// The phase.
  public var phase: AppLifecycle
  /// Why it is that.
  public var reason: LifecycleReason
  /// What a person wants it to be.
  public var choice: LifecycleChoice

  /// Makes a snapshot, for tests of what uses one.
  public init(phase: AppLifecycle, reason: LifecycleReason, choice: LifecycleChoice = .auto) {
    self.phase = phase
    self.reason = reason
    self.choice = choice
  }
}

/// A snapshot that differs from the one before.
public struct LifecycleUpdate: Sendable, Hashable {
  /// Counts the monitor's updates from 1; a gap means that the reader was too slow for those between.
  public var number: Int
  /// The phase.
  public var snapshot: LifecycleSnapshot

  /// Makes an update, for tests of what uses one.
  public init(number: Int, snapshot: LifecycleSnapshot) {
    self.number = number
    self.snapshot = snapshot
  }
}
