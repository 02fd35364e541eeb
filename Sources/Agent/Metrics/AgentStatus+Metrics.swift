extension AgentStatus {
  /// The metrics of the agent and of its connection to a coordinator.
  public var metrics: [Metric] {
    [
      Metric(
        "edgeblue_agent_mode", "mode", of: ComputeMode.allCases.map(\.rawValue), now: mode.rawValue,
        "The compute mode."),
      Metric(
        "edgeblue_agent_run_state", "state", of: RunState.names, now: runState.name,
        "The state of the service; running only while the service of the mode works."),
      Metric(
        "edgeblue_agent_network_available", .gauge, "1 while there is a default route.",
        network.map { $0.status == .satisfied ? 1 : 0 }),
      Metric(
        "edgeblue_agent_external_power", .gauge, "1 while the machine is on external power.",
        power.map { $0.onExternalPower ? 1 : 0 }),
      Metric(
        "edgeblue_agent_battery_ratio", .gauge, "The battery level, 0 to 1.",
        power?.batteryLevelPct.map { Double($0) / 100 }),
      Metric(
        "edgeblue_agent_downgrades_total", .counter, "Automatic changes from On to Bluetooth Local.",
        counters.downgrades),
      Metric("edgeblue_agent_service_starts_total", .counter, "Starts of a service.", counters.starts),
      Metric("edgeblue_agent_service_failures_total", .counter, "Failures of a service.", counters.failures),
      Metric(
        "edgeblue_agent_saves_failed_total", .counter, "Failed writes of the mode to disk.",
        counters.savesFailed),
      Metric(
        "edgeblue_agent_storage_problem", .gauge, "1 while the mode or an event is not on disk.",
        storageProblem == nil ? 0 : 1),
    ] + (coordinator?.metrics ?? [])
  }
}

extension CoordinatorStatus {
  var metrics: [Metric] {
    [
      Metric(
        "edgeblue_coordinator_registered", .gauge, "1 while this machine is registered.",
        isRegistered ? 1 : 0),
      Metric(
        "edgeblue_coordinator_last_heartbeat_timestamp_seconds", .gauge,
        "The Unix time of the last accepted heartbeat.",
        lastHeartbeatAtMs.map { Double($0) / 1000 }),
      Metric(
        "edgeblue_coordinator_unreachable", .gauge, "1 while the coordinator cannot be reached.",
        health.unreachableSinceMs == nil ? 0 : 1),
      Metric(
        "edgeblue_coordinator_heartbeats_failed_total", .counter, "Heartbeats that the coordinator did not accept.",
        health.heartbeatsFailed),
      Metric(
        "edgeblue_coordinator_task_seconds_total", .counter, "The time spent on tasks.",
        Double(health.workedMs) / 1000),
      Metric("edgeblue_coordinator_working", .gauge, "1 while a task is worked on.", isWorking ? 1 : 0),
      Metric(
        "edgeblue_coordinator_tasks_total", .counter, "Tasks that were worked on, by outcome.",
        [
          .init(Double(jobsDone), ["outcome": "done"]), .init(Double(jobsFailed), ["outcome": "failed"]),
          .init(Double(jobsCancelled), ["outcome": "cancelled"]),
        ]),
      Metric(
        "edgeblue_coordinator_results_waiting", .gauge, "Results that the coordinator does not have yet.",
        resultsWaiting),
      Metric(
        "edgeblue_coordinator_results_unwanted_total", .counter, "Results that the coordinator rejected.",
        resultsUnwanted),
      Metric(
        "edgeblue_coordinator_drops_total", .counter, "Work that was not requested or not given, by reason.",
        knownDropReasons.sorted { $0.key < $1.key }.map { .init(Double($0.value), ["reason": $0.key]) }),
    ]
  }
}
