public import Places

/// A location that a receiver has measured, in WGS 84.
public struct CoverageLocation: Sendable, Hashable {
  /// The place that the receiver has measured.
  public var place: Place
  /// The estimated horizontal error in metres; `nil` if it is unknown.
  public var accuracy: Double?
  /// The height above sea level in metres; `nil` without one.
  public var altitude: Double?
  /// The course over ground in degrees from north, 0 to 360; `nil` without one.
  public var bearing: Double?
  /// The speed over ground in metres per second; `nil` without one.
  public var speed: Double?

  /// The latitude in degrees, −90 to 90.
  public var latitude: Double { place.latitude }
  /// The longitude in degrees, −180 to 180.
  public var longitude: Double { place.longitude }

  /// Creates a location at a place.
  ///
  /// An accuracy, a bearing or a speed that is negative, not finite or absurd is one that the receiver does not know.
  public init(
    _ place: Place, accuracy: Double? = nil, altitude: Double? = nil, bearing: Double? = nil, speed: Double? = nil
  ) {
    self.place = place
    self.accuracy = Self.known(accuracy)
    self.altitude = altitude.flatMap { abs($0) <= Self.largest ? $0 : nil }
    self.bearing = Self.known(bearing).flatMap { $0 <= 360 ? $0 : nil }
    self.speed = Self.known(speed)
  }

  /// Creates a location; returns `nil` for degrees out of their range.
  public init?(
    latitude: Double, longitude: Double, accuracy: Double? = nil, altitude: Double? = nil, bearing: Double? = nil,
    speed: Double? = nil
  ) {
    guard let place = Place(latitude: latitude, longitude: longitude) else { return nil }
    self.init(place, accuracy: accuracy, altitude: altitude, bearing: bearing, speed: speed)
  }

  /// The largest figure in metres, or metres per second, that a receiver can mean.
  private static let largest = 1e8

  private static func known(_ value: Double?) -> Double? { value.flatMap { (0...largest).contains($0) ? $0 : nil } }
}
