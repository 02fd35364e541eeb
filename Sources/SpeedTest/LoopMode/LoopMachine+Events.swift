extension LoopMachine {
  /// The events that the state machine accepts.
  public enum Event: Sendable, Hashable {
    /// The program has started, with a new loop or with one that an earlier program has left.
    ///
    /// The outcome is that of the running test of a loop that was left, if its result is stored: the program ended
    /// between the end of the test and the note of it.
    case launch(stored: LoopOutcome?)
    /// The instant of ``LoopMachine/wait(at:)`` has come.
    case timePassed
    /// The receiver has measured a location.
    case location(LoopFix)
    /// Somebody came to the machine or left it, or it is about to sleep.
    case presence(LoopPresence)
    /// The running test is over.
    case tested(LoopOutcome)
    /// A user ends the loop.
    case stop
  }

  /// The actions that the owner performs, in order.
  public enum Action: Sendable, Hashable {
    /// Store the state durably; what follows happens only after that.
    case save
    /// Begin this test, and report its end once by ``Event/tested(_:)``.
    case begin(LoopTest)
    /// Cancel the running test, and report its end.
    case abort
    /// Keep the machine awake from now on.
    case hold
    /// Keep the machine awake no longer.
    case release
    /// Show this notification to the user.
    case notify(LoopNotice)
    /// Report that the loop is over.
    case finish(LoopEnding)
  }
}

/// The presence of a user at the machine, which decides whether a test may run.
public enum LoopPresence: Sendable, Hashable {
  /// Somebody is at the machine.
  case present
  /// Nobody is at the machine, or somebody has chosen that.
  case away
  /// The machine is about to sleep.
  case suspending
}

/// A notification that the next test is due and waits for somebody.
public struct LoopNotice: Sendable, Hashable {
  /// The number of the test that waits, from 1.
  public var number: Int
  /// The number of tests of the loop.
  public var tests: Int
  /// The condition that made the test due.
  public var trigger: LoopTrigger
}
