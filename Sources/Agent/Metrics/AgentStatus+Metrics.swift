internal import SystemState

extension AgentStatus {
  /// What can be followed over time.
  public var metrics: [Metric] {
    [
      Metric(
        "edgeblue_agent_mode", "mode", of: ComputeMode.allCases.map(\.rawValue), now: mode.rawValue,
        "The compute mode."),
      Metric(
        "edgeblue_agent_run_state", "state", of: RunState.names, now: runState.name,
        "What runs; it is running only while the service of the mode works."),
      Metric(
        "edgeblue_agent_network_available", .gauge, "Whether there is a way out to the network.",
        network.map { $0.status == .satisfied ? 1 : 0 }),
      Metric(
        "edgeblue_agent_external_power", .gauge, "Whether the machine is on external power.",
        power.map { $0.onExternalPower ? 1 : 0 }),
      Metric(
        "edgeblue_agent_battery_ratio", .gauge, "How full the battery is, 0 to 1.",
        power?.batteryLevelPct.map { [Metric.Sample(Double($0) / 100)] } ?? []),
      Metric(
        "edgeblue_agent_downgrades_total", .counter, "How often the mode went from On to Bluetooth Local by itself.",
        counters.downgrades),
      Metric("edgeblue_agent_service_starts_total", .counter, "How often a service was started.", counters.starts),
      Metric("edgeblue_agent_service_failures_total", .counter, "How often a service failed.", counters.failures),
      Metric(
        "edgeblue_agent_saves_failed_total", .counter, "How often the mode could not be written to disk.",
        counters.savesFailed),
      Metric(
        "edgeblue_agent_storage_problem", .gauge, "Whether the mode or an event is not on disk.",
        storageProblem == nil ? 0 : 1),
    ] + (coordinator?.metrics ?? [])
  }
}

extension CoordinatorStatus {
  var metrics: [Metric] {
    [
      Metric(
        "edgeblue_coordinator_registered", .gauge, "Whether the coordinator knows this machine.",
        isRegistered ? 1 : 0),
      Metric(
        "edgeblue_coordinator_last_heartbeat_timestamp_seconds", .gauge,
        "When the coordinator took the last heartbeat, Unix time.",
        lastHeartbeatAtMs.map { [Metric.Sample(Double($0) / 1000)] } ?? []),
      Metric("edgeblue_coordinator_working", .gauge, "Whether a task is worked on.", isWorking ? 1 : 0),
      Metric(
        "edgeblue_coordinator_tasks_total", .counter, "Tasks that were worked on, by outcome.",
        [.init(Double(jobsDone), ["outcome": "done"]), .init(Double(jobsFailed), ["outcome": "failed"])]),
      Metric(
        "edgeblue_coordinator_results_waiting", .gauge, "Results the coordinator does not have yet.", resultsWaiting),
      Metric(
        "edgeblue_coordinator_results_unwanted_total", .counter, "Results the coordinator will never take.",
        resultsUnwanted),
      Metric(
        "edgeblue_coordinator_drops_total", .counter, "How often no work was asked for or given, by reason.",
        dropReasons.sorted { $0.key < $1.key }.map { .init(Double($0.value), ["reason": $0.key]) }),
    ]
  }
}
