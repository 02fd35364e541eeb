import Agent
import Foundation
import SystemState
import SystemTesting
import Testing

@Suite("Metrics") struct MetricTests {
  @Test("The text has the format of Prometheus") func theTextIsPrometheuss() {
    let metrics = [
      Metric(
        "jobs_total", .counter, "Jobs\nby \"outcome\".",
        [.init(3, ["outcome": "a \"b\"\n\\", "kind": "x"]), .init(0.5)]),
      Metric("nothing", .gauge, "Left out.", Int?.none),
      Metric("edges", .gauge, "Edges.", [.init(.infinity), .init(-.infinity), .init(.nan), .init(1e18)]),
    ]
    #expect(
      Metric.text(of: metrics) == #"""
        # HELP jobs_total Jobs\nby "outcome".
        # TYPE jobs_total counter
        jobs_total{kind="x",outcome="a \"b\"\n\\"} 3
        jobs_total 0.5
        # HELP edges Edges.
        # TYPE edges gauge
        edges +Inf
        edges -Inf
        edges NaN
        edges 1000000000000000000

        """#)
  }

  @Test("Unknown values have no metrics") func whatIsNotKnownIsLeftOut() {
    let status = AgentStatus(mode: .on, runState: .running)
    let text = Metric.text(of: status.metrics)
    #expect(text.contains("edgeblue_agent_mode{mode=\"on\"} 1\n"))
    #expect(text.contains("edgeblue_agent_mode{mode=\"off\"} 0\n"))
    #expect(text.contains("edgeblue_agent_run_state{state=\"running\"} 1\n"))
    #expect(!text.contains("battery"))
    #expect(!text.contains("network_available"))
  }

  @Test("Known values have metrics") func whatIsKnownIsThere() {
    var status = AgentStatus(mode: .bluetoothLocal, cause: .networkLoss, network: .init(status: .unsatisfied))
    status.power = PowerTelemetry(onExternalPower: false, batteryLevelPct: 50, lowPowerMode: false, updatedAtMs: 1)
    status.storageProblem = "the disk is full"
    let text = Metric.text(of: status.metrics)
    #expect(text.contains("edgeblue_agent_battery_ratio 0.5\n"))
    #expect(text.contains("edgeblue_agent_network_available 0\n"))
    #expect(text.contains("edgeblue_agent_external_power 0\n"))
    #expect(text.contains("edgeblue_agent_storage_problem 1\n"))
  }

  /// By Prometheus's own reader, which also looks at names and units.
  @Test(
    "promtool accepts the agent's metrics", .enabled(if: ChildProcess.path(of: "promtool") != nil, "needs promtool"))
  func prometheusHasNothingAgainstIt() async throws {
    var known = AgentStatus(mode: .on, runState: .running, network: .init(status: .satisfied))
    known.power = PowerTelemetry(onExternalPower: false, batteryLevelPct: 50, lowPowerMode: false, updatedAtMs: 1)
    known.coordinator = CoordinatorStatus(address: "http://c", agentID: "a", lastHeartbeatAtMs: 5)
    known.coordinator?.dropReasons = ["low_battery": 2]
    let process = try ChildProcess("promtool", ["check", "metrics"], hasInput: true, errors: .kept)
    try await process.write(Metric.text(of: known.metrics))
    process.input.close()
    let outcome = await process.outcome()
    #expect(outcome.status == 0)
    #expect(outcome.output + outcome.errors == "")
  }
}
