import Testing

@testable import SystemState

@Suite("The sensors of the host") struct MachineSensorTests {
  /// A machine of files: `sys` and `proc` in a folder.
  private func sensor(_ folder: Folder) -> MachineSensor {
    MachineSensor(proc: folder.path + "/proc", sys: folder.path + "/sys")
  }

  @Test("Without files only the kind of the host is known") func withoutFilesOnlyTheKindIsGuessed() throws {
    let folder = try Folder()
    #expect(sensor(folder).read() == MachineTelemetry(kind: .desktop))
  }

  @Test(
    "The kind of the host follows from its battery and hypervisor",
    arguments: [
      ([:], "fpu vme de", .desktop), ([:], "fpu vme hypervisor lahf_lm", .server),
      (["type": "Battery", "status": "Full", "capacity": "100"], "fpu hypervisor", .laptop),
      (["type": "Battery", "scope": "Device", "status": "Full", "capacity": "100"], "fpu", .desktop),
    ] as [([String: String], String, MachineTelemetry.Kind)])
  func itsKind(battery: [String: String], flags: String, kind: MachineTelemetry.Kind) throws {
    let folder = try Folder()
    if !battery.isEmpty { try folder.write("sys/class/power_supply/BAT0", battery) }
    let filler = String(repeating: "bugs\t\t: none\n", count: 400)
    try folder.write("proc", ["cpuinfo": "processor\t: 0\n" + filler + "flags\t\t: \(flags)\n"])
    #expect(sensor(folder).read().kind == kind)
  }

  @Test("A hypervisor is found in sysfs and in the device tree") func underXenOrInADeviceTree() throws {
    let xen = try Folder()
    try xen.write("sys/hypervisor", ["type": "xen"])
    #expect(sensor(xen).read().kind == .server)
    let board = try Folder()
    try board.write("proc/device-tree/hypervisor", ["compatible": "linux,kvm"])
    #expect(sensor(board).read().kind == .server)
  }

  @Test(
    "The hottest plausible zone decides the thermal state",
    arguments: [
      ([48000], .nominal), ([60000, 20000], .nominal), ([60001], .fair), ([75000], .fair), ([20000, 90000], .serious),
      ([90001], .critical), ([-274_000, 300_000], nil), ([], nil),
    ] as [([Int], MachineTelemetry.ThermalState?)])
  func theHottestZoneCounts(zones: [Int], state: MachineTelemetry.ThermalState?) throws {
    let folder = try Folder()
    for (number, temperature) in zones.enumerated() {
      try folder.write("sys/class/thermal/thermal_zone\(number)", ["temp": "\(temperature)"])
    }
    try folder.write("sys/class/thermal/cooling_device0", ["temp": "99000"])
    try folder.write("sys/class/thermal/thermal_zone9", ["temp": "warm"])
    #expect(sensor(folder).read().thermalState == state)
  }

  @Test("The processor usage is the mean since an earlier reading") func howBusyItWasSinceTheLastReading() throws {
    let folder = try Folder()
    func usage(_ sensor: MachineSensor, _ line: String) throws -> Double? {
      try folder.write("proc", ["stat": line + "\ncpu0 1 1 1 1"])
      return sensor.read().cpuUsagePct
    }
    let sensor = sensor(folder)
    #expect(try usage(sensor, "cpu  100 0 0 900 0 0 0 0 50 0") == nil)
    // Less than a second tells nothing new.
    #expect(try usage(sensor, "cpu  101 0 0 901 0 0 0 0 50 0") == nil)
    #expect(try usage(sensor, "cpu  200000 50100 50000 500900 100000 50000 25000 25000 9 9") == 40)
    #expect(try usage(sensor, "cpu  200000 50100 50000 500901 100000 50000 25000 25000 9 9") == 40)
    // What cannot be read changes nothing; counters that run backwards begin anew.
    #expect(try usage(sensor, "intr 12") == 40)
    #expect(try usage(sensor, "cpu  18446744073709551615 1 1 1") == 40)
    #expect(try usage(sensor, "cpu  1 2 -3 4") == 40)
    #expect(try usage(sensor, "cpu  10 0 0 90") == nil)
    #expect(try usage(sensor, "cpu  100010 0 0 300090") == 25)
  }

  @Test("The sensor reads the host of the tests") func thisMachine() {
    let sensor = MachineSensor()
    let telemetry = sensor.read()
    #expect(telemetry.kind != nil)
    #expect(telemetry.cpuUsagePct == nil)
  }
}
