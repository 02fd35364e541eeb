extension CoordinatorMachine {
  /// A request of the machine's.
  enum Call: Sendable, Hashable {
    case register
    case heartbeat
    case pull
    /// The result with this number.
    case result(Int)

    var path: String {
      switch self {
      case .register: "/register"
      case .heartbeat: "/heartbeat"
      case .pull: "/pull"
      case .result: "/result"
      }
    }
  }

  /// What happened.
  enum Event: Sendable {
    /// It is to work, and has not been since the last ``Event/stop``.
    case start
    /// It is to stop.
    case stop
    /// It can wait no longer: the task that is worked on becomes a result at once.
    case leave
    /// The time of ``wakeAt`` has come.
    case tick
    /// A call was answered, or not.
    case ended(Call, Outcome)
    /// What runs the models says how it is.
    case model(CoordinatorModel)
    /// The task with this id was worked on.
    case worked(String, Work)
    /// A result could not be kept on disk.
    case notKept(Int)
    /// ``session`` is on disk.
    case saved
    /// ``session`` could not be kept on disk.
    case notSaved
  }

  /// What became of a task.
  enum Work: Sendable, Hashable {
    case answered(String)
    case failed(String)
  }

  /// What became of a call.
  enum Outcome: Sendable, Hashable {
    case answer(CoordinatorAnswer)
    case none(CoordinatorTransportError)

    /// Whether nobody knows what the coordinator made of the call.
    var isUnsure: Bool {
      switch self {
      case .none(let error): return error.mayHaveArrived
      case .answer(let answer):
        if case .failed = CoordinatorVerdict(answer) { return true } else { return false }
      }
    }
  }

  /// What to do, in this order.
  enum Effect: Sendable, Hashable {
    /// Keep ``session`` on disk, and come back with ``Event/notSaved`` when that fails, and with ``Event/saved`` when it
    /// does no longer.
    case save
    /// Send it, and come back with ``Event/ended(_:_:)``, exactly once.
    case send(Call, isSigned: Bool)
    /// The coordinator has taken a heartbeat: the machine takes part.
    case connected
    /// The coordinator will not have this machine.
    case refused(String)
    /// Work on it, and come back with ``Event/worked(_:_:)``, exactly once.
    case work(CoordinatorTask)
    /// End that work soon.
    case cancelWork
    /// Keep this result on disk, and come back with ``Event/notKept(_:)`` when that fails.
    case keep(ResultOutbox.Entry)
    /// Forget the result with this number.
    case discard(Int)
    /// Write this into the event log.
    case log(String)
  }

  /// Why the coordinator will not have this machine, and until when nobody asks again.
  struct Refusal: Sendable, Hashable {
    var reason: String
    var until: Duration
  }
}
