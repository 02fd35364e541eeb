import Foundation
import Testing

@testable import SystemState

@Suite struct PowerMachineTests {
  private let wired = SupplyReading(source: .upower, externalPower: .supply, batteryLevelPct: 80)

  @Test func onlyWhatChangedIsTold() throws {
    var machine = PowerMachine(lowPowerSetting: false)
    let told = machine.handle(wired, nil, atMs: 1000)
    let first = try #require(told)
    #expect(first.number == 1 && first.changes.isEmpty)
    #expect(
      first.snapshot.telemetry
        == PowerTelemetry(onExternalPower: true, batteryLevelPct: 80, lowPowerMode: false, updatedAtMs: 1000))
    let same = machine.handle(wired, nil, atMs: 2000)
    #expect(same == nil)
    #expect(machine.newest?.number == 1 && machine.newest?.snapshot.telemetry.updatedAtMs == 2000)

    let fault = SupplyFault(supply: "BAT0", file: "capacity", text: "x")
    let unplugged = SupplyReading(source: .sysfs, externalPower: .battery, faults: [fault])
    let next = machine.handle(unplugged, ProfileReading(source: .hadess, isPowerSaver: true), atMs: 3000)
    let second = try #require(next)
    #expect(second.number == 2)
    #expect(
      second.changes == [
        .source(from: .upower, to: .sysfs), .profileSource(from: .setting, to: .hadess), .fault(fault),
        .externalPower(from: .supply, to: .battery), .battery(from: 80, to: nil), .lowPowerMode(true),
      ])
    #expect(
      second.changes.map(\.description) == [
        "the kernel tells of supplies and batteries", "power-profiles-daemon tells of the low power mode",
        "BAT0: capacity says “x”", "on battery: no power supply is connected", "how full the battery is, is not known",
        "power is to be saved",
      ])
    let third = machine.handle(wired, nil, atMs: 4000)
    #expect(third?.changes.contains(.faultGone(fault)) == true)
  }

  @Test func theSettingCountsOnlyWhereNobodyKnows() {
    var machine = PowerMachine(lowPowerSetting: true)
    let alone = machine.handle(wired, nil, atMs: 0)
    #expect(alone?.snapshot.telemetry.lowPowerMode == true)
    let told = machine.handle(wired, ProfileReading(source: .upower, isPowerSaver: false), atMs: 0)
    #expect(told?.snapshot.telemetry.lowPowerMode == false)
  }

  @Test func anUnknownBatteryIsAbsent() throws {
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
