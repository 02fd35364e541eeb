internal import DBus

extension CoordinatorStatus {
  /// What became of tasks, by name.
  var jobs: [String: Int] {
    ["done": jobsDone, "failed": jobsFailed, "unwanted": resultsUnwanted, "waiting": resultsWaiting]
  }

  /// Reads the properties; `nil` when there is no coordinator.
  init?(properties: [String: Value]) {
    guard let address = properties["Coordinator"]?.string, let agentID = properties["AgentId"]?.string else {
      return nil
    }
    self.init(
      address: address, agentID: agentID, isRegistered: properties["Registered"]?.bool ?? false,
      lastHeartbeatAtMs: properties["LastHeartbeatAtMs"]?.integer(),
      nextHeartbeatAtMs: properties["NextHeartbeatAtMs"]?.integer(), problem: properties["CoordinatorProblem"]?.string)
    (isWorking, heldBecause) = (properties["Working"]?.bool ?? false, properties["HeldBecause"]?.string)
    let jobs = properties["Jobs"]?.counts ?? [:]
    (jobsDone, jobsFailed) = (jobs["done", default: 0], jobs["failed", default: 0])
    (resultsUnwanted, resultsWaiting) = (jobs["unwanted", default: 0], jobs["waiting", default: 0])
    dropReasons = properties["DropReasons"]?.counts ?? [:]
  }
}

extension Value {
  /// Counts by name, in the order of the names: `a{st}`.
  static func counts(_ counts: [String: Int]) -> Value {
    .dictionary(
      of: "st",
      counts.sorted { $0.key < $1.key }.map { Entry(.string($0.key), .uint64(UInt64(clamping: $0.value))) })
  }

  /// The counts of an `a{st}`; what else it may hold is left out.
  var counts: [String: Int]? {
    entries.map { entries in
      Dictionary(
        entries.compactMap { entry in
          guard let name = entry.key.string, let count: Int = entry.value.integer() else { return nil }
          return (name, count)
        }, uniquingKeysWith: { $1 })
    }
  }
}
