public import Places

/// A location that a source has measured, in WGS 84.
public struct LocationFix: Sendable, Hashable {
  /// The place that the source has measured.
  public var place: Place
  /// The estimated horizontal error in metres; `nil` if the source does not know it.
  public var error: Double?
  /// The height above sea level in metres; `nil` without one.
  public var altitude: Double?
  /// The speed over ground in metres per second; `nil` without one.
  public var speed: Double?
  /// The course over ground in degrees from north, 0 to 360; `nil` without one.
  public var course: Double?
  /// The time of the measurement by the source's clock, in milliseconds since 1970; `nil` without one.
  public var measuredAtMs: Int64?

  /// The latitude in degrees, −90 to 90.
  public var latitude: Double { place.latitude }
  /// The longitude in degrees, −180 to 180.
  public var longitude: Double { place.longitude }

  /// Creates a location at a place.
  public init(_ place: Place, error: Double? = nil) {
    self.place = place
    self.error = error
  }

  /// Creates a location; returns `nil` for degrees out of their range.
  public init?(latitude: Double, longitude: Double, error: Double? = nil) {
    guard let place = Place(latitude: latitude, longitude: longitude) else { return nil }
    self.init(place, error: error)
  }
}

/// A change of what is known about the location of the host.
public enum LocationUpdate: Sendable, Hashable {
  /// The source has measured a location.
  case fix(LocationFix)
  /// The source works, and has no location: indoors, or just after its start.
  case searching
  /// The source cannot be used; the monitor tries again by itself. The code is `.notPermitted` if somebody refuses this
  /// program the location, and `.unavailable` otherwise.
  case unavailable(LocationError)
  /// The source has delivered everything that it has: a track ends.
  case ended
}

/// The source of the locations of a monitor.
///
/// ```swift
/// let source = LocationSource.gpsd(host: "127.0.0.1", port: 2947)
/// print(source)  // gpsd at 127.0.0.1:2947
/// ```
public enum LocationSource: Sendable, Hashable, CustomStringConvertible {
  /// A gpsd, which listens on port 2947 of this host unless it is set up otherwise.
  case gpsd(host: String, port: Int)
  /// GeoClue, the location service of desktops, for a program with this desktop ID.
  ///
  /// GeoClue lets programs locate the host that its configuration or the user of a desktop permits; a program without a
  /// desktop needs a section of that name in `/etc/geoclue/geoclue.conf`.
  case geoClue(desktopID: String)
  /// A file with a track, in GPX or NMEA 0183, whose points come at the pace of their times.
  ///
  /// A speed of 2 halves the times between them.
  case track(path: String, speed: Double)
  /// A place that never changes, as of a board on a wall.
  case fixed(LocationFix)

  /// The name of the source for display.
  public var description: String {
    switch self {
    case .gpsd(let host, let port): "gpsd at \(host.contains(":") ? "[\(host)]" : host):\(port)"
    case .geoClue: "GeoClue"
    case .track(let path, _): "the track \(path)"
    case .fixed: "a fixed place"
    }
  }
}
