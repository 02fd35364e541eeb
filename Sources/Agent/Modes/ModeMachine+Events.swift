extension ModeMachine {
  /// Something that happened.
  public enum Event: Sendable, Hashable {
    /// The program has started: what was restored is applied.
    case start
    /// The program is about to end: everything stops, and the mode stays as it is.
    case shutDown
    /// A person has chosen a mode.
    case choose(ComputeMode)
    /// A person has set whether nothing runs without external power.
    case setRunOnlyWhileCharging(Bool)
    /// There is a way out to the network.
    case networkFound
    /// There is none, and why.
    case networkLost(because: String)
    /// Whether the machine is on external power.
    case power(onExternalPower: Bool)
    /// A service that was to start works now.
    case started(ComputeService)
    /// A service has ended: because it was to stop, or for the reason given.
    case ended(ComputeService, because: String?)
    /// It is time to try a service again that has failed.
    case retry(ComputeService)
  }

  /// Something to do, in this order.
  ///
  /// Who performs them answers each ``start(_:)`` with exactly one ``Event/ended(_:because:)``, when the service has
  /// stopped, failed, or ended by itself; and before that with at most one ``Event/started(_:)``. A ``stop(_:)`` of what
  /// has just ended by itself does nothing.
  public enum Effect: Sendable, Hashable {
    /// Keep this on disk.
    case persist(ModeRecord)
    /// Write this into the event log.
    case log(LogEntry)
    /// Tell the person.
    case notify(Notice)
    /// Start a service.
    case start(ComputeService)
    /// Stop a service.
    case stop(ComputeService)
    /// Come back with ``Event/retry(_:)`` after a while.
    case retryLater(ComputeService)
  }

  /// What a person is told though they did not ask.
  public enum Notice: String, Sendable, Hashable, CustomStringConvertible {
    /// The mode is Bluetooth Local since the network went away, and the network is back.
    case networkReturned = "network_returned"

    /// The notice in words.
    public var description: String {
      "The network is back. The mode is still Bluetooth Local; choose On to rejoin the swarm."
    }
  }

  /// An entry of the event log.
  public enum LogEntry: Sendable, Hashable, CustomStringConvertible {
    /// What was restored is applied.
    case applied(ComputeMode)
    /// A person chose a mode.
    case chosen(ComputeMode)
    /// The mode went from On to Bluetooth Local by itself.
    case downgraded(because: String)
    /// The network came back, and the mode stayed.
    case networkReturned
    /// Nothing runs, and why.
    case blocked(Block)
    /// What kept things from running is over.
    case unblocked
    /// A service failed.
    case failed(ComputeService, because: String)

    /// The entry in words.
    public var description: String {
      switch self {
      case .applied(let mode): "the mode is \(mode), as it was"
      case .chosen(let mode): "a person has chosen the mode \(mode)"
      case .downgraded(let reason): "the mode goes from On to Bluetooth Local by itself: no way out (\(reason))"
      case .networkReturned: "there is a way out again; the mode stays Bluetooth Local until a person chooses On"
      case .blocked(let block): "nothing runs: \(block)"
      case .unblocked: "nothing keeps it from running any longer"
      case .failed(let service, let reason): "the \(service.rawValue) service has failed: \(reason)"
      }
    }
  }

  /// Why nothing runs, though the mode is not Off.
  public enum Block: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// It is to run on external power only, and there is none.
    case notCharging = "not_charging"
    /// It is to run on external power only, and whether there is any is not known yet.
    case powerUnknown = "power_unknown"

    /// The reason in words.
    public var description: String {
      switch self {
      case .notCharging: "it is to run on external power only; connect power to start"
      case .powerUnknown: "it is to run on external power only, and whether there is any is not known yet"
      }
    }
  }
}
