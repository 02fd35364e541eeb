import SystemState
import Testing

@testable import Agent

private func power(
  _ level: Int? = nil, external: Bool = false, saving: Bool = false
) -> PowerTelemetry {
  PowerTelemetry(onExternalPower: external, batteryLevelPct: level, lowPowerMode: saving, updatedAtMs: 0)
}

@Suite("The flow chart of assignments") struct FlowChartTests {
  struct Row: Sendable {
    var power: PowerTelemetry?
    var reason: AssignmentReason
    init(_ power: PowerTelemetry?, _ reason: AssignmentReason) {
      self.power = power
      self.reason = reason
    }
  }

  @Test(
    "The flow chart decides by low power mode and battery level",
    arguments: [
      Row(power(80, saving: true), .lowPowerMode), Row(power(80, external: true, saving: true), .lowPowerMode),
      Row(power(saving: true), .lowPowerMode),
      Row(power(5, saving: true), .lowPowerMode),
      Row(power(19), .batteryBelowThreshold), Row(power(20), .powerSuffices), Row(power(0), .batteryBelowThreshold),
      // The threshold comes before the charger: that is how the chart is drawn.
      Row(power(19, external: true), .batteryBelowThreshold), Row(power(20, external: true), .powerSuffices),
      Row(power(external: true), .powerSuffices), Row(power(), .powerSuffices), Row(nil, .powerSuffices),
    ])
  func theChart(_ row: Row) {
    let decision = AssignmentPolicy.flowChart(FlowChart()).decide(.init(power: row.power))
    let allows = row.reason == .powerSuffices
    #expect(decision == AssignmentDecision(coordinatorTasks: allows, peerWork: allows, row.reason))
  }

  @Test("The battery threshold is a setting") func theThresholdIsASetting() throws {
    for threshold in [0, 1, 50, 100] {
      let chart = AssignmentPolicy.flowChart(try FlowChart(batteryThreshold: threshold))
      for level in 0...100 {
        let reason: AssignmentReason = level < threshold ? .batteryBelowThreshold : .powerSuffices
        #expect(chart.decide(.init(power: power(level))).reason == reason)
      }
    }
    for threshold in [-1, 101] {
      let error = #expect(throws: AgentError.self) { try FlowChart(batteryThreshold: threshold) }
      #expect(error?.code == .invalidArgument)
    }
  }
}

@Suite("The coordinator's table for phones") struct CoordinatorPhoneTableTests {
  struct Row: Sendable {
    var input: AssignmentPolicy.Input
    var reason: AssignmentReason
    init(_ power: PowerTelemetry?, ago seconds: Double? = nil, _ reason: AssignmentReason) {
      input = .init(power: power, sinceLastTask: seconds.map { .milliseconds($0 * 1000) })
      self.reason = reason
    }
  }

  @Test(
    "The table decides as the coordinator does",
    arguments: [
      Row(power(80, saving: true), .iosLowPowerMode), Row(power(80, external: true, saving: true), .iosLowPowerMode),
      Row(power(50, external: true), .iosExternalPower), Row(power(5, external: true), ago: 1, .iosExternalPower),
      Row(power(0), .iosBatteryCritical), Row(power(15), .iosBatteryCritical), Row(power(20), .iosBatteryCritical),
      Row(power(20), ago: 1, .iosBatteryCritical), Row(power(21), .iosOnBatteryLiteMode),
      Row(power(80), ago: 0, .iosOnBatteryThrottled), Row(power(80), ago: 44.999, .iosOnBatteryThrottled),
      Row(power(80), ago: 45, .iosOnBatteryLiteMode), Row(power(80), ago: 99.999, .iosOnBatteryLiteMode),
      Row(power(), ago: 1, .iosOnBatteryThrottled), Row(power(), .iosOnBatteryLiteMode),
      Row(nil, ago: 0.2, .iosOnBatteryThrottled), Row(nil, .iosOnBatteryLiteMode),
    ])
  func theTable(_ row: Row) {
    let decision = AssignmentPolicy.coordinatorPhone(CoordinatorPhoneTable()).decide(row.input)
    #expect(decision.reason == row.reason)
    #expect(decision.allowsCoordinatorTasks == [.iosExternalPower, .iosOnBatteryLiteMode].contains(row.reason))
    #expect(decision.allowsPeerWork == (row.reason == .iosExternalPower))
    #expect(decision.deferral == nil)
    #expect(!decision.allowsSmallTasksOnly)
  }

  @Test("The limits of the phone table are settings") func itsNumbersAreSettings() throws {
    let table = try CoordinatorPhoneTable(batteryStopLevel: 50, batteryInterval: .seconds(5))
    #expect(table.decide(power(50), sinceLastTask: nil).reason == .iosBatteryCritical)
    #expect(table.decide(power(51), sinceLastTask: .seconds(2)).reason == .iosOnBatteryThrottled)
    #expect(table.decide(power(51), sinceLastTask: .seconds(5)).reason == .iosOnBatteryLiteMode)
    #expect(throws: AgentError.self) { try CoordinatorPhoneTable(batteryStopLevel: 101, batteryInterval: .zero) }
    #expect(throws: AgentError.self) { try CoordinatorPhoneTable(batteryStopLevel: 20, batteryInterval: .seconds(-1)) }
  }

  @Test("Invalid optional telemetry values are ignored") func otherMachinesFieldsAreIgnored() {
    let hot = MachineTelemetry(kind: .laptop, cpuUsagePct: 99, thermalState: .critical)
    let policy = AssignmentPolicy.coordinatorPhone(CoordinatorPhoneTable())
    #expect(policy.decide(.init(power: power(external: true), machine: hot)).reason == .iosExternalPower)
  }
}

@Suite("The coordinator's table for machines") struct CoordinatorMachineTableTests {
  struct Row: Sendable {
    var power: PowerTelemetry?
    var machine: MachineTelemetry
    var reason: AssignmentReason
    init(_ power: PowerTelemetry?, _ machine: MachineTelemetry = .init(), _ reason: AssignmentReason) {
      self.power = power
      self.machine = machine
      self.reason = reason
    }
  }

  private static func machine(
    _ kind: MachineTelemetry.Kind? = .laptop, cpu: Double? = nil, _ heat: MachineTelemetry.ThermalState? = nil
  ) -> MachineTelemetry {
    MachineTelemetry(kind: kind, cpuUsagePct: cpu, thermalState: heat)
  }

  @Test(
    "The table decides as the coordinator does",
    arguments: [
      // A server before a busy processor, before heat, before the battery.
      Row(power(1), machine(.server, cpu: 99, .critical), .serverUnlimited),
      Row(power(1), machine(cpu: 99, .critical), .highCPUDefer),
      Row(power(1), machine(cpu: 85, .critical), .thermalThrottle),
      Row(power(1), machine(cpu: 85, .fair), .laptopBatteryCritical),
      Row(power(external: true), machine(cpu: 85), .desktopACPower),
      Row(power(external: true), machine(cpu: 85.1), .highCPUDefer),
      Row(power(external: true), machine(.laptop, .serious), .thermalThrottle),
      Row(power(external: true), machine(.laptop, .critical), .thermalThrottle),
      Row(power(external: true), machine(.laptop, .fair), .desktopACPower),
      Row(power(external: true), machine(.laptop, .nominal), .desktopACPower),
      Row(nil, .init(), .desktopACPower), Row(power(10), machine(.desktop), .desktopACPower),
      Row(power(10, external: true), machine(), .desktopACPower),
      Row(power(0), machine(), .laptopBatteryCritical), Row(power(14), machine(), .laptopBatteryCritical),
      Row(power(15), machine(), .laptopBatteryLow), Row(power(40), machine(), .laptopBatteryLow),
      Row(power(41), machine(), .laptopBatteryHigh), Row(power(100), machine(nil), .laptopBatteryHigh),
      Row(power(), machine(), .laptopBatteryHigh),
      // What only phones have.
      Row(power(80, saving: true), machine(), .laptopBatteryHigh),
    ])
  func theTable(_ row: Row) {
    let decision = AssignmentPolicy.coordinatorMachine.decide(
      .init(power: row.power, machine: row.machine, sinceLastTask: .zero))
    #expect(decision.reason == row.reason)
    #expect(decision.allowsCoordinatorTasks == ![.thermalThrottle, .laptopBatteryCritical].contains(row.reason))
    #expect(
      decision.allowsPeerWork == [.serverUnlimited, .highCPUDefer, .desktopACPower].contains(row.reason))
    #expect(decision.deferral == (row.reason == .highCPUDefer ? .seconds(5) : nil))
    #expect(decision.allowsSmallTasksOnly == (row.reason == .laptopBatteryLow))
  }
}

@Suite("The reasons for dropped tasks") struct DropReasonsTests {
  private let short = AssignmentDecision.Work.coordinatorTask(timeLimit: .seconds(10))
  private let long = AssignmentDecision.Work.coordinatorTask(timeLimit: .milliseconds(10_001))

  @Test("Each hold has a reason and is counted") func eachHoldHasAReasonAndIsCounted() {
    var drops = DropReasons()
    let machine = AssignmentPolicy.coordinatorMachine
    let low = machine.decide(.init(power: power(30)))
    var holds = [drops.check(short, low), drops.check(long, low), drops.check(.peerWork, low)]
    #expect(holds == [nil, .init(.laptopBatteryLow), .init(.laptopBatteryLow)])
    let busy = machine.decide(.init(power: nil, machine: MachineTelemetry(cpuUsagePct: 100)))
    holds = [drops.check(short, busy), drops.check(.peerWork, busy)]
    #expect(holds == [.init(.highCPUDefer, retryAfter: .seconds(5)), nil])
    let empty = AssignmentPolicy.flowChart(FlowChart()).decide(.init(power: power(3)))
    holds = [drops.check(.peerWork, empty)]
    #expect(holds == [.init(.batteryBelowThreshold)])
    #expect(drops.counts == ["laptop_battery_low": 2, "high_cpu_defer": 1, "battery_below_threshold": 1])
    #expect(drops.total == 4)
  }
}
