import SystemState

/// The source of locations, as a loop keeps it.
struct LocationSettings: Codable, Hashable, Sendable {
  /// The kinds of sources.
  enum Kind: String, Codable, Sendable {
    case gpsd
    case geoClue
    case track
    case place
  }

  /// The name that GeoClue's configuration permits or refuses.
  private static let desktopID = "edgeblue"

  var kind: Kind
  var host: String?
  var port: Int?
  var path: String?
  var speed: Double?
  var latitude: Double?
  var longitude: Double?

  /// The source of a monitor; `nil` for settings that do not fit together, as they come from a file.
  var source: LocationSource? {
    switch kind {
    case .gpsd: if let host, let port { .gpsd(host: host, port: port) } else { nil }
    case .geoClue: .geoClue(desktopID: Self.desktopID)
    case .track: path.map { .track(path: $0, speed: speed ?? 1) }
    case .place:
      if let latitude, let longitude {
        LocationFix(latitude: latitude, longitude: longitude, error: 0).map { .fixed($0) }
      } else {
        nil
      }
    }
  }
}
