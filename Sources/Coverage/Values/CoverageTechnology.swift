/// The technology of the mobile network at a place.
public enum CoverageTechnology: String, Sendable, Hashable, Codable, CaseIterable {
  /// There is no network at the place.
  case none = "NONE"
  /// There may be a network; this machine has nothing that tells its technology.
  case unknown = "UNKNOWN"
  /// GSM, of the second generation.
  case gsm = "2G/GSM"
  /// GSM with EDGE, of the second generation.
  case edge = "2G/EDGE"
  /// UMTS, of the third generation.
  case umts = "3G/UMTS"
  /// UMTS with HSDPA, of the third generation.
  case hsdpa = "3G/HSDPA"
  /// UMTS with HSUPA, of the third generation.
  case hsupa = "3G/HSUPA"
  /// LTE, of the fourth generation.
  case lte = "4G/LTE"
  /// New Radio beside LTE (non-standalone), of the fifth generation.
  case nrNonStandalone = "5G/NRNSA"
  /// New Radio alone (standalone), of the fifth generation.
  case nr = "5G/NR"

  /// The number of the technology at control servers; `nil` if it is unknown.
  public var id: Int? {
    switch self {
    case .none: 1000
    case .unknown: nil
    case .gsm: 1
    case .edge: 2
    case .umts: 3
    case .hsdpa: 8
    case .hsupa: 9
    case .lte: 13
    case .nr: 20
    case .nrNonStandalone: 41
    }
  }

  /// The name at control servers; `nil` if the technology is unknown.
  public var serverName: String? { self == .unknown ? nil : rawValue }

  /// The name for display, in plain words.
  public var displayName: String {
    switch self {
    case .none: "no coverage"
    case .unknown: "unknown"
    default: rawValue
    }
  }

  /// The colour on a map, as six hexadecimal digits of red, green and blue.
  public var color: String {
    switch self {
    case .none: "A0A0A0"
    // Of none of the generations, and not the grey of a place without coverage.
    case .unknown: "2E9E5B"
    case .gsm, .edge: "FFDE00"
    case .umts, .hsdpa, .hsupa: "EFFF00"
    case .lte: "00DEFF"
    case .nrNonStandalone: "0091FF"
    case .nr: "5E00FF"
    }
  }
}

/// The kind of network that packets take at present.
public enum CoverageNetwork: String, Sendable, Hashable, Codable, CaseIterable {
  /// The mobile network, which is measured.
  case cellular
  /// A wireless LAN; nothing is measured over it.
  case wifi
  /// A network of a kind that this machine cannot tell, such as a cable to a modem; it is measured.
  case unknown
  /// No network; pings fail, which marks a place without coverage.
  case none
}
