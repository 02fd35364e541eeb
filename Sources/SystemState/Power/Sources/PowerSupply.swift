/// One power supply of this host, as the kernel describes it.
enum PowerSupply: Sendable, Hashable {
  /// A line that may carry power: the mains, a USB port, a charging pad.
  case line(isOnline: Bool)
  case battery(Battery)

  struct Battery: Sendable, Hashable {
    enum State: String, Sendable {
      case unknown = "Unknown"
      case charging = "Charging"
      case discharging = "Discharging"
      case notCharging = "Not charging"
      case full = "Full"
    }

    /// The capacity of the full battery.
    enum Full: Sendable, Hashable {
      /// In µWh.
      case energy(Double)
      /// In µAh.
      case charge(Double)
    }

    /// Percent, 0–100.
    var level: Double?
    var full: Full?
    var state: State
  }
}

extension SupplyReading {
  /// Combines all supplies of this host into one reading.
  init(_ supplies: [PowerSupply]) {
    var lines: [Bool] = []
    var batteries: [PowerSupply.Battery] = []
    for supply in supplies {
      switch supply {
      case .line(let isOnline): lines.append(isOnline)
      case .battery(let battery): batteries.append(battery)
      }
    }
    self.init(
      source: .sysfs, externalPower: Self.externalPower(lines, batteries.map(\.state)),
      batteryLevelPct: Self.level(batteries))
  }

  private static func externalPower(
    _ lines: [Bool], _ states: [PowerSupply.Battery.State]
  ) -> ExternalPower {
    if lines.contains(true) { return .supply }
    if states.isEmpty { return .noBattery }
    // Some supplies are not listed, such as a charger behind a fuel gauge: a charging battery reveals it.
    if states.contains(.charging) { return .charging }
    // A full battery stays "Full" for a while after unplugging; then a listed supply is more accurate.
    let holds = !states.contains(.discharging) && states.contains { $0 == .full || $0 == .notCharging }
    return lines.isEmpty && holds ? .charging : .battery
  }

  /// Returns the level of all batteries together, weighted by their capacities; equally, if these are not known in one
  /// unit. A battery with an unknown level is left out.
  private static func level(_ batteries: [PowerSupply.Battery]) -> Int? {
    let known = batteries.compactMap { battery in battery.level.map { (level: $0, full: battery.full) } }
    guard !known.isEmpty else { return nil }
    let energies = known.compactMap { if case .energy(let energy)? = $0.full { energy } else { nil } }
    let charges = known.compactMap { if case .charge(let charge)? = $0.full { charge } else { nil } }
    let weights = [energies, charges].first { $0.count == known.count } ?? known.map { _ in 1 }
    let sum = zip(known, weights).reduce(0) { $0 + $1.0.level * $1.1 }
    return Int((sum / weights.reduce(0, +)).rounded())
  }
}
