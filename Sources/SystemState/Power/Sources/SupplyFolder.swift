internal import DurableFiles

/// The kernel's power supplies as files: `/sys/class/power_supply`, or a test's own folder.
///
/// They are polled: the kernel's events reach no container, and many drivers report a plug and never a level.
struct SupplyFolder: Sendable {
  let path: String

  /// Reads all supplies. A missing folder has no supplies.
  func read() -> SupplyReading {
    var faults: [SupplyFault] = []
    var supplies: [PowerSupply] = []
    for name in SmallFile(path).names {
      var files = SupplyFiles(folder: path, supply: name)
      if let supply = files.read() { supplies.append(supply) }
      faults += files.faults
    }
    var reading = SupplyReading(supplies)
    reading.faults = faults
    return reading
  }

  /// Whether this host has a battery of its own.
  var hasBattery: Bool {
    SmallFile(path).names.contains { name in
      var files = SupplyFiles(folder: path, supply: name)
      if case .battery? = files.read() { return true }
      return false
    }
  }
}

/// The files of one supply, as the kernel's sysfs-class-power describes them.
struct SupplyFiles {
  let folder: String
  let supply: String
  private(set) var faults: [SupplyFault] = []

  init(folder: String, supply: String) {
    self.folder = folder
    self.supply = supply
  }

  /// Reads the supply; returns `nil` if it is none of this host: a mouse's battery, an empty bay, or no supply at all.
  mutating func read() -> PowerSupply? {
    guard let type = text("type"), text("scope") != "Device" else { return nil }
    switch type {
    case "Battery", "UPS": return battery()
    case "Mains", "Wireless", "BrickID": return .line(isOnline: isOnline())
    case let type where type.hasPrefix("USB"): return .line(isOnline: isOnline())
    default: return nil
    }
  }

  private mutating func battery() -> PowerSupply? {
    if text("present") == "0" { return nil }
    let state = text("status").map { PowerSupply.Battery.State(rawValue: $0) ?? fault("status", $0, .unknown) }
    let full =
      number("energy_full").map { PowerSupply.Battery.Full.energy($0) }
      ?? number("charge_full").map { PowerSupply.Battery.Full.charge($0) }
    return .battery(.init(level: level(), full: full, state: state ?? fault("status", nil, .unknown)))
  }

  /// Reads the level in percent. Some batteries report a little more than 100 just after calibration.
  private mutating func level() -> Double? {
    if let text = text("capacity") {
      guard let percent = Int(text), (0...110).contains(percent) else { return fault("capacity", text, nil) }
      return Double(min(percent, 100))
    }
    for kind in ["energy", "charge"] {
      if let now = number("\(kind)_now"), let full = number("\(kind)_full") { return min(100, 100 * now / full) }
    }
    return fault("capacity", nil, nil)
  }

  /// Reads whether a line is online: 1 is a fixed voltage, 2 a programmable one.
  private mutating func isOnline() -> Bool {
    guard let text = text("online") else { return fault("online", nil, false) }
    guard let number = Int(text), (0...2).contains(number) else { return fault("online", text, false) }
    return number > 0
  }

  /// Reads a number above 0, in any unit. Many drivers lack such a file, which is no fault.
  private mutating func number(_ file: String) -> Double? {
    guard let text = text(file) else { return nil }
    guard let number = Int(text), number >= 0 else { return fault(file, text, nil) }
    return number > 0 || file.hasSuffix("_now") ? Double(number) : nil
  }

  private mutating func fault<Value>(_ file: String, _ text: String?, _ value: Value) -> Value {
    let fault = SupplyFault(supply: supply, file: file, text: text)
    if !faults.contains(fault) { faults.append(fault) }
    return value
  }

  private func text(_ file: String) -> String? { SmallFile("\(folder)/\(supply)/\(file)").line }
}
