extension CoordinatorMachine {
  /// A request to the coordinator.
  enum Call: Sendable, Hashable {
    case register
    case heartbeat
    case pull
    /// Sends the result with this number.
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

  /// The events that the state machine accepts.
  enum Event: Sendable {
    /// The service starts.
    case start
    /// The service stops; what is under way may end.
    case stop
    /// The service has to end now: a task that is worked on becomes a result at once.
    case leave
    /// The instant ``wakeAt`` has passed.
    case tick
    /// A request has ended with this outcome.
    case ended(Call, Outcome)
    /// The user, or the coordinator, wants the next request now.
    case askNow
    /// The state of the engine.
    case model(CoordinatorModel)
    /// The task with this identifier has an outcome.
    case worked(String, Work)
    /// The result with this number could not be written to disk.
    case notKept(Int)
    /// ``session`` was written to disk.
    case saved
    /// ``session`` could not be written to disk.
    case notSaved
  }

  /// The outcome of a task.
  enum Work: Sendable, Hashable {
    case answered(String)
    case failed(String)
    /// The work was cancelled, for this reason, which is not the engine's.
    case cancelled(String)
  }

  /// The outcome of a request.
  enum Outcome: Sendable, Hashable {
    case answer(CoordinatorAnswer)
    case none(CoordinatorTransportError)

    /// A Boolean value that indicates whether the coordinator certainly has not handled the request.
    var hasNotArrived: Bool {
      switch self {
      case .none(let error): return !error.mayHaveArrived
      case .answer(let answer): if case .busy = CoordinatorVerdict(answer) { return true } else { return false }
      }
    }

    /// The longest delay that a coordinator may demand: 1 h.
    static let longestRetryAfter: Duration = .seconds(3600)

    /// The delay that the coordinator demands before the next such request; `nil` if it has done what was requested, or
    /// demands none.
    var retryAfter: Duration? {
      guard case .answer(let answer) = self, answer.status >= 300, let delay = answer.retryAfter else { return nil }
      return min(max(delay, .zero), Self.longestRetryAfter)
    }

    /// A Boolean value that indicates whether it is unknown what the coordinator did with the request.
    var isUnsure: Bool {
      switch self {
      case .none(let error): return error.mayHaveArrived
      case .answer(let answer):
        // A signature is checked, and a heartbeat may count, before a server says that it is busy.
        switch CoordinatorVerdict(answer) {
        case .busy, .failed: return true
        case .done, .unauthorized, .forbidden, .refused: return false
        }
      }
    }
  }

  /// The actions that the state machine's owner performs, in this order.
  enum Action: Sendable, Hashable {
    /// Write ``session`` to disk. Send ``Event/notSaved`` if that fails, and ``Event/saved`` if it succeeds after a
    /// failure.
    case save
    /// Send the request, and send ``Event/ended(_:_:)`` exactly once.
    case send(Call, isSigned: Bool)
    /// Report that the coordinator has accepted a heartbeat.
    case connected
    /// Report that the coordinator refuses this machine, for this reason.
    case refused(String)
    /// Work on the task, and send ``Event/worked(_:_:)`` exactly once.
    case work(CoordinatorTask)
    /// Cancel that work.
    case cancelWork
    /// Write this result to disk, and send ``Event/notKept(_:)`` if that fails.
    case keep(ResultOutbox.Entry)
    /// Remove the result with this number from the disk.
    case discard(Int)
    /// Write this into the event log.
    case log(String)
    /// Report that work on a task has begun or ended, in words.
    case tell(String)
    /// Report that the coordinator pushes this.
    case pushed(CoordinatorPush)
  }
}
