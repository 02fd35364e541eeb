import DBus
import DBusTesting
import Streams
import SystemTesting
import Testing

@testable import SystemState

@Suite(
  "The power monitor at fake daemons", .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"))
struct PowerMonitorTests {
  /// No reading of its own accord within a test's life, so that what is seen was told, or asked for.
  private func options(_ bus: PrivateBus?, _ folder: Folder) -> PowerMonitor.Options {
    var options = PowerMonitor.Options()
    options.bus = bus.map { .address($0.address) }
    options.supplyFolder = folder.path
    options.interval = .seconds(3600)
    return options
  }

  @Test("The start, changes and stop of UPower are followed") func upowerComesChangesAndGoes() async throws {
    let bus = try PrivateBus()
    let folder = try Folder()
    try folder.write("AC", ["type": "Mains", "online": "1"])
    let monitor = try await PowerMonitor.start(options(bus, folder))
    #expect(monitor.snapshot.source == .sysfs)
    #expect(monitor.snapshot.externalPower == .supply)
    let seen = Watcher(monitor.updates(limit: 1000))

    let upower = try await FakeUPower(bus, isOnBattery: true, percentage: 41.6)
    let first = try await seen.until("UPower") { $0.snapshot.source == .upower }
    #expect(first.snapshot.externalPower == .battery)
    #expect(first.snapshot.telemetry.batteryLevelPct == 42)
    #expect(first.changes.contains(.source(from: .sysfs, to: .upower)))

    try upower.set(isOnBattery: false)
    let plugged = try await seen.until("plugged") { $0.snapshot.externalPower == .supply }
    #expect(plugged.changes == [.externalPower(from: .battery, to: .supply)])
    try upower.set(percentage: 43)
    try await seen.until("charged") { $0.snapshot.telemetry.batteryLevelPct == 43 }
    try upower.set(percentage: nil)
    try await seen.until("the battery was taken out") {
      $0.snapshot.externalPower == .noBattery && $0.snapshot.telemetry.batteryLevelPct == nil
    }

    upower.end()
    try await seen.until("back to the files") { $0.snapshot.source == .sysfs && $0.snapshot.externalPower == .supply }
    let again = try await FakeUPower(bus, isOnBattery: false, percentage: 100)
    try await seen.until("UPower again") {
      $0.snapshot.source == .upower && $0.snapshot.telemetry.batteryLevelPct == 100
    }
    again.end()
    #expect(seen.seen.map(\.number) == Array(1...seen.seen.count))
  }

  @Test("power-profiles-daemon is read by either of its names") func powerProfilesByEitherName() async throws {
    let bus = try PrivateBus()
    let folder = try Folder()
    var options = options(bus, folder)
    options.lowPowerMode = true
    let monitor = try await PowerMonitor.start(options)
    #expect(monitor.telemetry.lowPowerMode)
    #expect(monitor.snapshot.profileSource == .setting)
    let seen = Watcher(monitor.updates(limit: 1000))

    let old = try await FakeProfiles(
      bus, name: "net.hadess.PowerProfiles", path: "/net/hadess/PowerProfiles", profile: "balanced")
    try await seen.until("the old name") { $0.snapshot.profileSource == .hadess && !$0.snapshot.telemetry.lowPowerMode }
    try old.set("power-saver")
    try await seen.until("saving") { $0.snapshot.telemetry.lowPowerMode }
    let new = try await FakeProfiles(
      bus, name: "org.freedesktop.UPower.PowerProfiles", path: "/org/freedesktop/UPower/PowerProfiles",
      profile: "performance")
    try await seen.until("the new name") { $0.snapshot.profileSource == .upower && !$0.snapshot.telemetry.lowPowerMode }
    new.end()
    try await seen.until("the old name again") {
      $0.snapshot.profileSource == .hadess && $0.snapshot.telemetry.lowPowerMode
    }
    old.end()
    try await seen.until("the setting") { $0.snapshot.profileSource == .setting }
  }

  @Test("Without a bus the kernel's files are read") func aBusThatGoesAndOneThatNeverWas() async throws {
    let bus = try PrivateBus()
    let folder = try Folder()
    let upower = try await FakeUPower(bus, isOnBattery: true, percentage: 9)
    let monitor = try await PowerMonitor.start(options(bus, folder))
    #expect(monitor.telemetry.batteryLevelPct == 9)
    #expect(!monitor.telemetry.onExternalPower)
    let seen = Watcher(monitor.updates(limit: 1000))
    bus.kill()
    try await seen.until("no bus") { $0.snapshot.source == .sysfs && $0.snapshot.externalPower == .noBattery }
    upower.end()

    var options = options(nil, folder)
    options.bus = .address("unix:path=/nonexistent/bus")
    #expect(try await PowerMonitor.start(options).snapshot.source == .sysfs)
  }

  /// A daemon that answers with nonsense, or knows nothing yet, is no reason to believe that a battery is empty.
  @Test("Implausible values of UPower count as unknown") func whatUPowerDoesNotKnow() {
    func reading(_ display: [String: Value], _ manager: [String: Value] = ["OnBattery": true]) -> SupplyReading? {
      SupplyReading(manager: manager, display: FakeUPower.battery(50).merging(display) { $1 })
    }
    #expect(reading([:]) == SupplyReading(source: .upower, externalPower: .battery, batteryLevelPct: 50))
    #expect(reading(["Percentage": .double(0)])?.batteryLevelPct == 0)
    #expect(reading(["Percentage": .double(0), "State": .uint32(0)])?.batteryLevelPct == .some(nil))
    for percentage in [Double.nan, -1, 100.1, .infinity] {
      #expect(reading(["Percentage": .double(percentage)])?.batteryLevelPct == .some(nil))
    }
    #expect(reading(["Percentage": "50"])?.batteryLevelPct == .some(nil))
    #expect(reading(["Type": .uint32(5)])?.batteryLevelPct == .some(nil))
    #expect(reading(["Type": .uint32(3)])?.batteryLevelPct == 50)
    #expect(reading([:], ["OnBattery": "no"]) == nil)
    #expect(reading([:], [:]) == nil)
  }

  @Test("Files are read on request and at the interval") func filesAreReadAnewWhenAskedAndByTheInterval() async throws {
    let folder = try Folder()
    let times = Lock<Int64>(0)
    var options = options(nil, folder)
    options.wallClock = {
      times.withLock { time in
        time += 1
        return time
      }
    }
    let monitor = try await PowerMonitor.start(options)
    let seen = Watcher(monitor.updates(limit: 1000))
    try folder.write("BAT0", SupplyFolderTests.battery("30", "Discharging"))
    monitor.refresh()
    let first = try await seen.until("the battery") { $0.snapshot.telemetry.batteryLevelPct == 30 }
    #expect(first.snapshot.telemetry.updatedAtMs == 2)

    options.interval = .milliseconds(100)
    let quick = try await PowerMonitor.start(options)
    let updates = Watcher(quick.updates(limit: 1000))
    try folder.write("BAT0", ["capacity": "29"])
    try await updates.until("without being asked") { $0.snapshot.telemetry.batteryLevelPct == 29 }
    monitor.close()
    #expect(try await seen.next() == nil)
  }

  @Test("An interval out of range is refused") func anIntervalThatCannotBe() async throws {
    for interval in [Duration.zero, .seconds(3601)] {
      var options = PowerMonitor.Options()
      options.interval = interval
      let error = await #expect(throws: PowerError.self) { try await PowerMonitor.start(options) }
      #expect(error?.code == .invalidArgument)
    }
  }
}
