internal import DBus

extension CoordinatorStatus {
  /// The numbers of tasks and results, by outcome.
  var jobs: [String: Int] {
    [
      "done": jobsDone, "failed": jobsFailed, "cancelled": jobsCancelled, "unwanted": resultsUnwanted,
      "waiting": resultsWaiting, "heartbeatsFailed": health.heartbeatsFailed,
      "workedMs": Int(clamping: health.workedMs),
    ]
  }

  /// Creates a status from D-Bus properties, or returns `nil` without a coordinator.
  init?(properties: [String: Value]) {
    guard let isRegistered = properties["Registered"]?.bool else { return nil }
    self.init(
      address: properties["Coordinator"]?.string ?? "", agentID: properties["AgentId"]?.string ?? "",
      isRegistered: isRegistered,
      lastHeartbeatAtMs: properties["LastHeartbeatAtMs"]?.integer(),
      nextHeartbeatAtMs: properties["NextHeartbeatAtMs"]?.integer(), problem: properties["CoordinatorProblem"]?.string)
    isWorking = properties["Working"]?.bool ?? false
    heldBecause = properties["HeldBecause"]?.string
    health.unreachableSinceMs = properties["UnreachableSinceMs"]?.integer()
    health.unreachableBecause = properties["UnreachableBecause"]?.string.flatMap(UnreachableReason.init)
    let jobs = properties["Jobs"]?.counts ?? [:]
    jobsDone = jobs["done", default: 0]
    jobsFailed = jobs["failed", default: 0]
    jobsCancelled = jobs["cancelled", default: 0]
    resultsUnwanted = jobs["unwanted", default: 0]
    resultsWaiting = jobs["waiting", default: 0]
    health.heartbeatsFailed = jobs["heartbeatsFailed", default: 0]
    health.workedMs = Int64(jobs["workedMs", default: 0])
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

  /// The counts of an `a{st}`; other entries are ignored.
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
