extension ModeMachine {
  /// The events that the state machine accepts.
  public enum Event: Sendable, Hashable {
    /// The program has started: the restored mode is applied.
    case start
    /// The program is about to end: all services stop, and the mode stays as it is.
    case shutDown
    /// The user chose a mode.
    case choose(ComputeMode)
    /// The user changed the setting that services run on external power only.
    case setRunOnlyWhileCharging(Bool)
    /// The host has a default route.
    case networkFound
    /// The host has no default route, for this reason.
    case networkLost(because: String)
    /// The power supply has changed, or is known now.
    case power(onExternalPower: Bool)
    /// The traffic of the network costs, or does not.
    case metered(Bool)
    /// A Bluetooth adapter was found, or the last one was removed.
    case bluetooth(isAvailable: Bool)
    /// A service that was started works now.
    case started(ComputeService)
    /// A service has ended: as requested, or for this reason.
    case ended(ComputeService, because: String?)
    /// The delay before the next attempt of a failed service is over.
    case retry(ComputeService)
  }

  /// The actions that the state machine's owner performs, in this order.
  ///
  /// For each ``start(_:)`` the owner sends exactly one ``Event/ended(_:because:)``, when the service has stopped or
  /// failed, and before that at most one ``Event/started(_:)``. A ``stop(_:)`` of a service that has just ended by
  /// itself has no effect.
  public enum Action: Sendable, Hashable {
    /// Write this record to disk.
    case persist(ModeRecord)
    /// Append this entry to the event log.
    case log(LogEntry)
    /// Show this notice to the user.
    case notify(Notice)
    /// Start the service of a mode.
    case start(ComputeService)
    /// Stop the service of a mode.
    case stop(ComputeService)
    /// Send ``Event/retry(_:)`` after a delay.
    case retryLater(ComputeService)
  }

  /// The notices that are shown to the user unasked.
  public enum Notice: String, Sendable, Hashable, CustomStringConvertible {
    /// The mode is Bluetooth Local because the network was lost, and the network has returned.
    case networkReturned = "network_returned"
    /// The mode is On, and the coordinator cannot be reached for long.
    case localPossible = "local_possible"

    /// The notice in words, for display.
    public var description: String {
      switch self {
      case .networkReturned:
        "The network is back. The mode is still Bluetooth Local; choose On to rejoin the swarm."
      case .localPossible:
        "The coordinator cannot be reached. The mode stays On; Bluetooth Local is possible meanwhile, if you choose it."
      }
    }
  }

  /// The entries of the event log.
  public enum LogEntry: Sendable, Hashable, CustomStringConvertible {
    /// The restored mode was applied.
    case applied(ComputeMode)
    /// The user chose a mode.
    case chosen(ComputeMode)
    /// The mode changed from On to Bluetooth Local without the user.
    case downgraded(because: String)
    /// The network returned, and the mode stayed Bluetooth Local.
    case networkReturned
    /// The mode returned from Bluetooth Local to On, as the setting demands.
    case returned
    /// Nothing runs, for this reason.
    case blocked(Block)
    /// The reason why nothing ran has ended.
    case unblocked
    /// A service has failed, for this reason.
    case failed(ComputeService, because: String)

    /// The entry in words, for display.
    public var description: String {
      switch self {
      case .applied(let mode): "restored the mode \(mode)"
      case .chosen(let mode): "the user chose the mode \(mode)"
      case .downgraded(let reason): "changed the mode from On to Bluetooth Local: no default route (\(reason))"
      case .networkReturned: "the network returned; the mode stays Bluetooth Local until the user chooses On"
      case .returned: "returned from Bluetooth Local to On, as the setting demands"
      case .blocked(let block): "nothing runs: \(block)"
      case .unblocked: "services may run again"
      case .failed(let service, let reason): "the \(service.rawValue) service has failed: \(reason)"
      }
    }
  }

  /// The reasons why nothing runs although the mode is not Off.
  public enum Block: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// Services run on external power only, and the machine is on battery.
    case notCharging = "not_charging"
    /// Services run on external power only, and the power supply is not known yet.
    case powerUnknown = "power_unknown"
    /// The mode is On, there is no network, and there is no Bluetooth adapter to change to.
    case noNetwork = "no_network"
    /// The mode is On, and the setting lets nothing run for the swarm while the network is metered.
    case metered

    /// The reason in words, for display.
    public var description: String {
      switch self {
      case .notCharging: "services run on external power only; connect power to start"
      case .noNetwork: "waiting for the network; without a Bluetooth adapter the mode stays On"
      case .metered: "the network is metered, and the setting lets nothing run for the swarm there"
      case .powerUnknown: "services run on external power only, and the power supply is not known yet"
      }
    }
  }
}

extension ModeMachine.LogEntry {
  /// The kind of the entry in the event log.
  var kind: AgentEvent.Kind {
    switch self {
    case .applied: .applied
    case .chosen: .chosen
    case .downgraded: .downgraded
    case .networkReturned: .networkReturned
    case .returned: .returned
    case .blocked: .blocked
    case .unblocked: .unblocked
    case .failed: .failed
    }
  }
}
