import DBusTesting
import Foundation
import SystemTesting
import Testing

private let examples = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build-examples/debug").standardized
private let plugged = examples.appending(path: "Plugged").path
private let bedtime = examples.appending(path: "Bedtime").path

@Suite(
  "The built example programs of SystemState",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: plugged), "needs the examples: scripts/build-examples")
)
struct ExampleTests {
  @Test("The example ends on external power", .enabled(if: UPowerProcess.isInstalled, "no .venv-peers"))
  func itEndsOnExternalPower() async throws {
    let bus = try PrivateBus()
    let discharging = try await UPowerProcess(bus, isOnBattery: true, percentage: 40)
    // Its output waits in a buffer, and goes with it when it is ended.
    #expect(try await run(bus, seconds: 2).status == 124)
    discharging.end()
    let charging = try await UPowerProcess(bus, isOnBattery: false, percentage: 40)
    let result = try await run(bus, seconds: 60)
    #expect(result.status == 0)
    #expect(result.output == "On external power: a power supply is connected\n")
    charging.end()
  }

  @Test(
    "Sleep waits until the example has saved", .enabled(if: RealLogind.isPermitted, "needs root and systemd-logind"),
    .timeLimit(.minutes(5)))
  func theMachineWaitsUntilItHasSaved() async throws {
    let logind = try await RealLogind()
    let process = try ChildProcess(bedtime, [], environment: ["DBUS_SYSTEM_BUS_ADDRESS": logind.bus.address])
    try await logind.until(["sleep EdgeBlue work is under way delay"])
    try await logind.suspend()
    #expect(await logind.nextUnit() == "suspend.target")
    #expect(await process.wait() == 0)
    #expect(readToEnd(process.output) == "Saving: the host is about to sleep\n")
  }

  /// Runs it with this bus for the system bus, and ends it after a time.
  private func run(_ bus: PrivateBus, seconds: Int) async throws -> (status: Int32, output: String) {
    let process = try ChildProcess(
      "env", ["DBUS_SYSTEM_BUS_ADDRESS=\(bus.address)", "timeout", "\(seconds)", plugged])
    let outcome = await process.outcome()
    return (outcome.status, outcome.output)
  }
}
