import JSONValues
import SystemState
import Testing

@testable import edgeblue

@Suite("The command power") struct PowerTests {
  private let laptop = PowerSnapshot(
    telemetry: PowerTelemetry(onExternalPower: false, batteryLevelPct: 41, lowPowerMode: true, updatedAtMs: 1_000),
    externalPower: .battery, source: .upower, profileSource: .hadess)
  private let board = PowerSnapshot(
    telemetry: PowerTelemetry(onExternalPower: true, batteryLevelPct: nil, lowPowerMode: false, updatedAtMs: 1_000),
    externalPower: .noBattery, faults: [SupplyFault(supply: "AC", file: "online", text: "\u{1b}")])

  @Test("The power state is printed in lines") func forPeople() {
    #expect(
      laptop.lines == [
        "On battery, at 41 %: no power supply is connected.", "",
        "Battery      41 % (from UPower)", "Power saver  on (from power-profiles-daemon)",
      ])
    #expect(
      board.lines == [
        "On external power: there is no battery.", "",
        "Battery      none (from the kernel)", "Power saver  off (from the setting)",
        "Unreadable: AC: online contains “\u{fffd}”",
      ])
  }

  @Test("A power update is printed as JSON") func forPrograms() {
    let update = PowerUpdate(number: 2, snapshot: laptop, changes: [.battery(from: 42, to: 41)])
    #expect(
      JSONValue.object(update.json).line == """
        {"changes":["the battery is at 41 % (was 42 %)"],"externalPower":"battery","faults":[],"number":2,\
        "powerTelemetry":{"batteryLevelPct":41,"lowPowerMode":true,"onExternalPower":false,"updatedAtMs":1000},\
        "profileSource":"net.hadess.PowerProfiles","source":"upower"}
        """)
    #expect(
      JSONValue.object(board.json).line.contains(
        #""powerTelemetry":{"lowPowerMode":false,"onExternalPower":true,"updatedAtMs":1000}"#))
  }
}
