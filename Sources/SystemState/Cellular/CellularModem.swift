/// A modem of a mobile network, as ModemManager describes it.
public struct CellularModem: Sendable, Hashable {
  /// The names of its network interfaces, such as `wwan0`.
  public var interfaces: Set<String> = []
  /// The name of its model; `nil` if it tells none.
  public var model: String?
  /// The state of the modem towards networks.
  public var service = Service.unknown
  /// The technology of the network; `nil` without one, and if the modem does not tell it.
  public var technology: CellularTechnology?
  /// The name of the network's operator; `nil` without one.
  public var operatorName: String?
  /// The code of the network's operator, five or six digits; `nil` without one.
  public var operatorCode: String?
  /// The quality of the signal in percent; `nil` if the modem does not tell it.
  public var quality: Int?
  /// The measured signal; `nil` unless the modem was asked to measure it.
  public var signal: CellularSignal?

  /// A state of a modem towards networks.
  public enum Service: String, Sendable, Hashable, Codable, CaseIterable {
    /// The modem is registered with the network of its card.
    case home
    /// The modem is registered with another network.
    case roaming
    /// There is no network that takes the modem, at most one for emergency calls.
    case none
    /// The modem is off, locked, without a card or broken: it knows nothing of networks.
    case off
    /// The modem does not tell.
    case unknown

    /// A Boolean value that indicates whether the modem is registered with a network.
    public var isRegistered: Bool { self == .home || self == .roaming }
  }

  /// Creates a modem of which nothing is known.
  public init() {}
}

/// The technology of a mobile network, by what a modem tells.
public enum CellularTechnology: String, Sendable, Hashable, Codable, CaseIterable {
  /// GSM with or without GPRS, of the second generation.
  case gsm
  /// GSM with EDGE, of the second generation.
  case edge
  /// UMTS, of the third generation.
  case umts
  /// UMTS with HSDPA, of the third generation.
  case hsdpa
  /// UMTS with HSUPA, HSPA or HSPA+, of the third generation.
  case hsupa
  /// LTE, its modes for machines included, of the fourth generation.
  case lte
  /// New Radio beside LTE (non-standalone), of the fifth generation.
  case nrNonStandalone
  /// New Radio alone (standalone), of the fifth generation.
  case nr
  /// Another one, such as CDMA2000.
  case other

  /// Creates a technology from the bits of ModemManager's `MMModemAccessTechnology`; returns `nil` for none, and for what
  /// is no network.
  public init?(modemManager bits: UInt32) {
    // "Any" stands for what a modem may use, not for what it uses.
    guard bits != .max else { return nil }
    func has(_ numbers: Int...) -> Bool { numbers.contains { bits & 1 << $0 != 0 } }
    if has(15) {
      self = has(14) ? .nrNonStandalone : .nr
    } else if has(14, 16, 17) {
      self = .lte
    } else if has(7, 8, 9) {
      self = .hsupa
    } else if has(6) {
      self = .hsdpa
    } else if has(5) {
      self = .umts
    } else if has(4) {
      self = .edge
    } else if has(1, 2, 3) {
      self = .gsm
    } else if has(10, 11, 12, 13) {
      self = .other
    } else {
      return nil
    }
  }
}

/// The signal of a mobile network, as a modem has measured it.
public struct CellularSignal: Sendable, Hashable {
  /// The power of the reference signals (RSRP) in dBm; that of the pilot (RSCP) with UMTS; `nil` without one.
  public var power: Double?
  /// The quality of the reference signals (RSRQ) in dB; that of the pilot (Ec/Io) with UMTS; `nil` without one.
  public var quality: Double?
  /// The ratio of the signal to interference and noise (SINR) in dB; `nil` without one.
  public var ratio: Double?

  /// Creates a signal; returns `nil` without any figure.
  public init?(power: Double?, quality: Double?, ratio: Double?) {
    guard power != nil || quality != nil || ratio != nil else { return nil }
    self.power = power
    self.quality = quality
    self.ratio = ratio
  }
}

/// A change of what is known about the modems of the host.
public enum CellularUpdate: Sendable, Hashable {
  /// The modems of the host, in the order of their numbers; none without one.
  case modems([CellularModem])
  /// ModemManager cannot be asked; with the reason.
  case unavailable(String)

  /// The modem that packets of an interface take: the one that has it, otherwise the only one of a mobile interface.
  /// - Parameters:
  ///   - interface: The name of the interface; `nil` if it is unknown.
  ///   - isCellular: Whether the interface is that of some modem.
  public func modem(of interface: String?, isCellular: Bool) -> CellularModem? {
    guard case .modems(let modems) = self else { return nil }
    if let interface, let modem = modems.first(where: { $0.interfaces.contains(interface) }) { return modem }
    return isCellular && modems.count == 1 ? modems[0] : nil
  }
}
