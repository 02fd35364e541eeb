internal import DBus

extension CellularModem {
  static let interface = "org.freedesktop.ModemManager1.Modem"
  static let networkInterface = interface + ".Modem3gpp"
  static let signalInterface = interface + ".Signal"

  /// The kind of a port that is a network interface (`MM_MODEM_PORT_TYPE_NET`).
  private static let networkPort = 2
  /// The longest name that is taken from a modem.
  private static let textLimit = 128

  /// Creates a modem from the properties of its interfaces at ModemManager; returns `nil` for an object that is none.
  init?(_ interfaces: [String: [String: Value]]) {
    guard let modem = interfaces[Self.interface] else { return nil }
    let network = interfaces[Self.networkInterface] ?? [:]
    self.init()
    for port in modem["Ports"]?.array ?? [] {
      guard case .structure(let parts) = port.unwrapped, parts.count == 2, let name = parts[0].string else { continue }
      if parts[1].integer() == Self.networkPort { self.interfaces.insert(name) }
    }
    model = Self.text(modem["Model"])
    service = Service(state: modem["State"]?.integer(), registration: network["RegistrationState"]?.integer())
    guard service.isRegistered || service == .unknown else { return }
    technology = modem["AccessTechnologies"]?.integer().flatMap { CellularTechnology(modemManager: $0) }
    operatorName = Self.text(network["OperatorName"])
    operatorCode = Self.text(network["OperatorCode"])
    if case .structure(let parts)? = modem["SignalQuality"]?.unwrapped, let value: Int = parts.first?.integer() {
      quality = (0...100).contains(value) ? value : nil
    }
    signal = Self.signal(interfaces[Self.signalInterface] ?? [:], technology)
  }

  private static func text(_ value: Value?) -> String? {
    guard let text = value?.string, !text.isEmpty else { return nil }
    return String(text.prefix(textLimit))
  }

  /// The signal of the network that is used: a modem keeps old figures of others.
  private static func signal(_ properties: [String: Value], _ technology: CellularTechnology?) -> CellularSignal? {
    func signal(_ network: String, _ power: String, _ quality: String) -> CellularSignal? {
      let figures = properties[network]?.properties ?? [:]
      return CellularSignal(
        power: figure(figures[power]), quality: figure(figures[quality]), ratio: figure(figures["snr"]))
    }
    switch technology {
    case .nr: return signal("Nr5g", "rsrp", "rsrq")
    case .nrNonStandalone: return signal("Nr5g", "rsrp", "rsrq") ?? signal("Lte", "rsrp", "rsrq")
    case .lte: return signal("Lte", "rsrp", "rsrq")
    case .umts, .hsdpa, .hsupa: return signal("Umts", "rscp", "ecio")
    default: return nil
    }
  }

  /// A figure in decibels; modems tell an unknown one by a number that no signal has.
  private static func figure(_ value: Value?) -> Double? {
    guard case .double(let figure)? = value?.unwrapped, (-200...100).contains(figure) else { return nil }
    return figure
  }
}

extension CellularModem.Service {
  /// Creates it from ModemManager's `MMModemState` and `MMModem3gppRegistrationState`.
  init(state: Int?, registration: Int?) {
    // Failed, being initialised, locked, disabled, being switched off or on.
    if let state, state == -1 || (1...5).contains(state) {
      self = .off
      return
    }
    switch registration {
    // Also where only short messages are taken, and where circuit-switched calls are not preferred.
    case 1, 6, 9: self = .home
    case 5, 7, 10: self = .roaming
    // Idle, searching, denied, emergency calls, and restricted services.
    case 0, 2, 3, 8, 11: self = .none
    // A modem of CDMA2000 alone has no registration of this kind.
    case nil where (8...11).contains(state ?? 0): self = .home
    default: self = .unknown
    }
  }
}
