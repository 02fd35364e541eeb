import Coverage
import SystemState

extension CoverageTechnology {
  /// The technology that a modem tells; without a modem it is unknown.
  init(_ modem: CellularModem?) {
    guard let modem else {
      self = .unknown
      return
    }
    self =
      switch modem.technology {
      case .gsm: .gsm
      case .edge: .edge
      case .umts: .umts
      case .hsdpa: .hsdpa
      case .hsupa: .hsupa
      case .lte: .lte
      case .nrNonStandalone: .nrNonStandalone
      case .nr: .nr
      // The servers' names of CDMA2000 are not known.
      case .other: .unknown
      case nil: modem.service == .none ? .none : .unknown
      }
  }
}

extension CellularModem {
  /// What a run shows of the modem, in one line.
  var line: String {
    let network =
      switch service {
      case .home, .roaming:
        (operatorName ?? operatorCode ?? "unknown operator") + (service == .roaming ? ", roaming" : "")
      case .none: "no network"
      case .off: "off, locked, or without a card"
      case .unknown: "it does not tell its network"
      }
    let figures = [
      technology.map { _ in CoverageTechnology(self).displayName }, signal?.power.map { "\(Amounts.fixed($0, 0)) dBm" },
      signal?.quality.map { "\(Amounts.fixed($0, 0)) dB" }, signal?.ratio.map { "SINR \(Amounts.fixed($0, 0)) dB" },
      signal == nil ? quality.map { "\($0) %" } : nil,
    ]
    return ([network] + figures.compactMap { $0 }).joined(separator: ", ")
  }
}
