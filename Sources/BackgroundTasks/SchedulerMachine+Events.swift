extension SchedulerMachine {
  /// Something that happened.
  public enum Event: Sendable, Hashable {
    /// Somebody wants a task run.
    case submit(BackgroundTaskRequest)
    /// These were pending when the program last ended; each may run after the time that is still to pass. What no handler
    /// is registered for any more goes.
    case restore([Remembered])
    /// The program is ready: from here on tasks may run.
    case launch
    /// A request is taken back; its run, if it has begun, goes on.
    case cancel(String)
    /// All requests are taken back.
    case cancelAll
    /// What the machine's state is now.
    case conditions(BackgroundConditions)
    /// A person wants a task run at once, whatever it requires.
    case runNow(String)
    /// A person wants a task told to come to its end.
    case expireNow(String)
    /// The program is about to end.
    case shutDown
    /// The run of this number has ended.
    case ended(Int, Outcome)
    /// It is ``SchedulerMachine/wake``.
    case timePassed
  }

  /// A request that was pending when the program ended.
  public struct Remembered: Sendable, Hashable {
    /// What is to run.
    public var request: BackgroundTaskRequest
    /// How much time is still to pass before it may.
    public var wait: Duration

    /// Makes one.
    public init(_ request: BackgroundTaskRequest, wait: Duration) {
      self.request = request
      self.wait = wait
    }
  }

  /// Something to do, in this order.
  public enum Effect: Sendable, Hashable {
    /// Run the handler; tell of its end by ``Event/ended(_:_:)``, once.
    case begin(Run)
    /// Tell the run of this number to come to its end.
    case expire(Int, ExpirationReason)
    /// This is how a run went.
    case record(Run, Outcome)
  }

  /// How a run ended.
  public enum Outcome: Sendable, Hashable {
    /// Its work is done.
    case completed
    /// It is not, for this reason.
    case failed(String)
    /// It had not ended when its time was over.
    case overdue
  }
}
