import Foundation
import Testing

@testable import SystemState

@Suite("The state machine of power") struct PowerMachineTests {
  private let wired = SupplyReading(source: .upower, externalPower: .supply, batteryLevelPct: 80)

  private func published(_ actions: [PowerMachine.Action]) -> PowerUpdate? {
    actions.lazy.compactMap { if case .publish(let update) = $0 { update } else { nil } }.first
  }

  @Test("Only changes are published") func onlyWhatChangedIsTold() throws {
    var machine = PowerMachine(lowPowerSetting: false)
    let first = try #require(published(machine.handle(.read(wired, nil), at: 1000)))
    #expect(first.number == 1)
    #expect(first.changes.isEmpty)
    #expect(
      first.snapshot.telemetry
        == PowerTelemetry(onExternalPower: true, batteryLevelPct: 80, lowPowerMode: false, updatedAtMs: 1000))
    let same = machine.handle(.read(wired, nil), at: 2000)
    #expect(published(same) == nil)
    #expect(machine.newest.map { same == [.store($0)] } == true)
    #expect(machine.newest?.number == 1)
    #expect(machine.newest?.snapshot.telemetry.updatedAtMs == 2000)

    let fault = SupplyFault(supply: "BAT0", file: "capacity", text: "x")
    let unplugged = SupplyReading(source: .sysfs, externalPower: .battery, faults: [fault])
    let saver = ProfileReading(source: .hadess, isPowerSaver: true)
    let second = try #require(published(machine.handle(.read(unplugged, saver), at: 3000)))
    #expect(second.number == 2)
    #expect(
      second.changes == [
        .source(from: .upower, to: .sysfs), .profileSource(from: .setting, to: .hadess), .fault(fault),
        .externalPower(from: .supply, to: .battery), .battery(from: 80, to: nil), .lowPowerMode(true),
      ])
    #expect(
      second.changes.map(\.description) == [
        "supplies and batteries are reported by the kernel", "the low power mode is reported by power-profiles-daemon",
        "BAT0: capacity contains “x”", "on battery: no power supply is connected", "the battery level is unknown",
        "low power mode is on",
      ])
    let third = published(machine.handle(.read(wired, nil), at: 4000))
    #expect(third?.changes.contains(.faultResolved(fault)) == true)
  }

  @Test("The setting counts only without a daemon") func theSettingCountsOnlyWhereNobodyKnows() {
    var machine = PowerMachine(lowPowerSetting: true)
    let alone = published(machine.handle(.read(wired, nil), at: 0))
    #expect(alone?.snapshot.telemetry.lowPowerMode == true)
    let profile = ProfileReading(source: .upower, isPowerSaver: false)
    let known = published(machine.handle(.read(wired, profile), at: 0))
    #expect(known?.snapshot.telemetry.lowPowerMode == false)
  }

  @Test("An unknown battery level is not encoded") func anUnknownBatteryIsAbsent() throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    for level in [nil, -1, 101] {
      let telemetry = PowerTelemetry(onExternalPower: true, batteryLevelPct: level, lowPowerMode: false, updatedAtMs: 5)
      #expect(
        String(decoding: try encoder.encode(telemetry), as: UTF8.self)
          == #"{"lowPowerMode":false,"onExternalPower":true,"updatedAtMs":5}"#)
    }
    let phone = #"{"batteryLevelPct":-1,"lowPowerMode":false,"onExternalPower":false,"updatedAtMs":5}"#
    #expect(try JSONDecoder().decode(PowerTelemetry.self, from: Data(phone.utf8)).batteryLevelPct == nil)
    let empty = PowerTelemetry(onExternalPower: false, batteryLevelPct: 0, lowPowerMode: true, updatedAtMs: 5)
    #expect(try JSONDecoder().decode(PowerTelemetry.self, from: encoder.encode(empty)) == empty)
  }
}
