import Testing

@testable import SystemState

@Suite("The kernel's files of power supplies") struct SupplyFolderTests {
  typealias Files = [String: String]

  /// Supplies as kernels list them, and what they amount to.
  struct Machine: Sendable, CustomTestStringConvertible {
    var name: String
    var supplies: [String: Files]
    var power: ExternalPower
    var level: Int?
    var testDescription: String { name }
  }

  static let charger: Files = ["type": "Mains", "online": "1"]
  static let unplugged: Files = ["type": "Mains", "online": "0"]

  static func battery(_ level: String, _ status: String, _ more: Files = [:]) -> Files {
    ["type": "Battery", "present": "1", "capacity": level, "status": status].merging(more) { $1 }
  }

  static let machines: [Machine] = [
    .init(name: "a board", supplies: [:], power: .noBattery),
    .init(name: "a desktop", supplies: ["AC": charger], power: .supply),
    .init(
      name: "a laptop at the mains", supplies: ["AC": charger, "BAT0": battery("80", "Charging")], power: .supply,
      level: 80),
    .init(
      name: "a laptop by itself", supplies: ["AC": unplugged, "BAT0": battery("7", "Discharging")], power: .battery,
      level: 7),
    .init(name: "empty", supplies: ["AC": unplugged, "BAT0": battery("0", "Discharging")], power: .battery, level: 0),
    .init(
      name: "full, and just unplugged", supplies: ["AC": unplugged, "BAT0": battery("100", "Full")], power: .battery,
      level: 100),
    .init(
      name: "USB-C",
      supplies: ["ucsi-source-psy-1": ["type": "USB", "online": "1"], "BAT0": battery("55", "Not charging")],
      power: .supply, level: 55),
    .init(
      name: "USB with a programmable voltage",
      supplies: ["usb": ["type": "USB_PD", "online": "2"], "battery": battery("55", "Charging")], power: .supply,
      level: 55),
    .init(
      name: "a charging pad", supplies: ["pad": ["type": "Wireless", "online": "1"], "b": battery("5", "Charging")],
      power: .supply, level: 5),
    .init(
      name: "a charger that is not listed", supplies: ["AC": unplugged, "b": battery("50", "Charging")],
      power: .charging,
      level: 50),
    .init(name: "a fuel gauge alone, full", supplies: ["b": battery("100", "Full")], power: .charging, level: 100),
    .init(
      name: "a fuel gauge alone, held", supplies: ["b": battery("80", "Not charging")], power: .charging, level: 80),
    .init(
      name: "a fuel gauge alone, in use", supplies: ["b": battery("60", "Discharging")], power: .battery, level: 60),
    .init(
      name: "a fuel gauge that knows little", supplies: ["b": battery("60", "Unknown")], power: .battery, level: 60),
    .init(
      name: "an uninterruptible supply", supplies: ["ups": ["type": "UPS", "status": "Discharging", "capacity": "40"]],
      power: .battery, level: 40),
    .init(
      name: "a mouse, a pen and an empty bay",
      supplies: [
        "AC": charger, "hidpp_battery_0": battery("5", "Discharging", ["scope": "Device"]),
        "wacom": ["type": "Mains", "online": "1", "scope": "Device"], "BAT1": ["type": "Battery", "present": "0"],
        "odd": ["type": "Toaster"],
      ], power: .supply),
    .init(
      name: "two batteries by energy",
      supplies: [
        "BAT0": battery("100", "Full", ["energy_full": "30000000"]),
        "BAT1": battery("20", "Discharging", ["energy_full": "10000000"]),
      ], power: .battery, level: 80),
    .init(
      name: "two batteries by charge",
      supplies: [
        "BAT0": battery("90", "Discharging", ["charge_full": "1000"]),
        "BAT1": battery("30", "Discharging", ["charge_full": "2000"]),
      ], power: .battery, level: 50),
    .init(
      name: "two batteries that cannot be compared",
      supplies: [
        "BAT0": battery("90", "Discharging", ["energy_full": "1"]),
        "BAT1": battery("31", "Discharging", ["charge_full": "2000000"]),
      ], power: .battery, level: 61),
    .init(
      name: "a level that has to be worked out",
      supplies: [
        "BAT0": ["type": "Battery", "status": "Discharging", "energy_now": "10", "energy_full": "40"]
      ], power: .battery, level: 25),
    .init(
      name: "just calibrated", supplies: ["BAT0": battery("103", "Charging")], power: .charging, level: 100),
  ]

  @Test("The supplies of known hosts are combined correctly", arguments: machines) func whatAMachineRunsOn(
    _ machine: Machine
  ) throws {
    let folder = try Folder()
    for (name, files) in machine.supplies { try folder.write(name, files) }
    #expect(
      SupplyFolder(path: folder.path).read()
        == SupplyReading(source: .sysfs, externalPower: machine.power, batteryLevelPct: machine.level))
  }

  @Test("A missing folder has no supplies") func withoutAFolder() {
    #expect(SupplyFolder(path: "/nonexistent").read() == SupplyReading(source: .sysfs, externalPower: .noBattery))
  }

  struct Broken: Sendable, CustomTestStringConvertible {
    var files: Files
    var fault: SupplyFault
    var testDescription: String { fault.description }

    init(_ files: Files, _ file: String, _ text: String?) {
      self.files = files
      fault = SupplyFault(supply: "x", file: file, text: text)
    }
  }

  @Test(
    "A malformed level is unknown and reported as a fault",
    arguments: [
      Broken(battery("eighty", "Discharging"), "capacity", "eighty"),
      Broken(battery("-1", "Discharging"), "capacity", "-1"),
      Broken(battery("111", "Discharging"), "capacity", "111"),
      Broken(battery("99999999999999999999", "Discharging"), "capacity", "99999999999999999999"),
      Broken(["type": "Battery", "status": "Discharging"], "capacity", nil),
      Broken(["type": "Battery", "status": "Discharging", "energy_now": "1", "energy_full": "0"], "capacity", nil),
    ])
  func aLevelThatIsNoneIsUnknown(_ broken: Broken) throws {
    let folder = try Folder()
    try folder.write("x", broken.files)
    #expect(
      SupplyFolder(path: folder.path).read()
        == SupplyReading(source: .sysfs, externalPower: .battery, batteryLevelPct: nil, faults: [broken.fault]))
  }

  @Test(arguments: [
    Broken(["type": "Mains"], "online", nil), Broken(["type": "Mains", "online": "yes"], "online", "yes"),
    Broken(["type": "Mains", "online": "3"], "online", "3"),
    Broken(battery("50", "Sleepy"), "status", "Sleepy"), Broken(["type": "Battery", "capacity": "50"], "status", nil),
    Broken(battery("50", "Discharging", ["energy_full": "much"]), "energy_full", "much"),
    Broken(battery("50", "Discharging", ["charge_full": "-4"]), "charge_full", "-4"),
  ])
  func whatIsNotUnderstoodIsSaidAndDoesNotCount(_ broken: Broken) throws {
    let folder = try Folder()
    try folder.write("x", broken.files)
    try folder.write("BAT0", Self.battery("50", "Discharging"))
    #expect(
      SupplyFolder(path: folder.path).read()
        == SupplyReading(source: .sysfs, externalPower: .battery, batteryLevelPct: 50, faults: [broken.fault]))
  }

  @Test("The description of a fault truncates a long text") func aLongTextIsCut() {
    let fault = SupplyFault(supply: "x", file: "capacity", text: String(repeating: "9", count: 4000))
    #expect(fault.text?.count == 64)
  }
}
