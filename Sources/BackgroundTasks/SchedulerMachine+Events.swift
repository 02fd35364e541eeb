extension SchedulerMachine {
  /// The events that the state machine handles.
  public enum Event: Sendable, Hashable {
    /// A caller submits a request to run a task.
    case submit(BackgroundTaskRequest)
    /// These requests were pending when the last process stopped; those without a handler are dropped.
    case restore([Remembered])
    /// The program is ready: tasks may run from now on.
    case launch
    /// A caller removes a pending request; a run in progress continues.
    case cancel(String)
    /// A caller removes all pending requests.
    case cancelAll
    /// The conditions of the host have changed.
    case conditions(BackgroundConditions)
    /// A user runs a task at once, without regard to its conditions.
    case runNow(String)
    /// A user expires the run of a task.
    case expireNow(String)
    /// The process is about to stop.
    case shutDown
    /// The run of this number has finished.
    case ended(Int, Outcome)
    /// The instant ``SchedulerMachine/wake`` has come.
    case timePassed
  }

  /// A request that was pending when the last process stopped.
  public struct Remembered: Sendable, Hashable {
    /// The request that was pending.
    public var request: BackgroundTaskRequest
    /// The remaining time before the task may run.
    public var wait: Duration

    /// Creates a remembered request with its remaining delay.
    public init(_ request: BackgroundTaskRequest, wait: Duration) {
      self.request = request
      self.wait = wait
    }
  }

  /// The actions that the scheduler performs for the machine.
  public enum Action: Sendable, Hashable {
    /// Run the handler, and report its end once by ``Event/ended(_:_:)``.
    case begin(Run)
    /// Expire the run of this number.
    case expire(Int, ExpirationReason)
    /// Record the outcome of a run.
    case record(Run, Outcome)
  }

  /// The outcome of a run.
  public enum Outcome: Sendable, Hashable {
    /// The work of the run is done.
    case completed
    /// The run failed, for this reason.
    case failed(String)
    /// The run had not finished at its deadline.
    case overdue
  }
}
