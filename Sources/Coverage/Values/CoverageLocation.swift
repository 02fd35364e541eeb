internal import Glibc

/// A location that a receiver has measured, in WGS 84.
public struct CoverageLocation: Sendable, Hashable {
  /// The latitude in degrees, −90 to 90.
  public var latitude: Double
  /// The longitude in degrees, −180 to 180.
  public var longitude: Double
  /// The estimated horizontal error in metres; `nil` if it is unknown.
  public var accuracy: Double?
  /// The height above sea level in metres; `nil` without one.
  public var altitude: Double?
  /// The course over ground in degrees from north, 0 to 360; `nil` without one.
  public var bearing: Double?
  /// The speed over ground in metres per second; `nil` without one.
  public var speed: Double?

  /// Creates a location; returns `nil` for degrees out of their range.
  ///
  /// An accuracy, a bearing or a speed that is negative, not finite or absurd is one that the receiver does not know.
  public init?(
    latitude: Double, longitude: Double, accuracy: Double? = nil, altitude: Double? = nil, bearing: Double? = nil,
    speed: Double? = nil
  ) {
    guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
    self.latitude = latitude
    self.longitude = longitude
    self.accuracy = Self.known(accuracy)
    self.altitude = altitude.flatMap { abs($0) <= Self.largest ? $0 : nil }
    self.bearing = Self.known(bearing).flatMap { $0 <= 360 ? $0 : nil }
    self.speed = Self.known(speed)
  }

  /// The mean radius of the Earth in metres.
  private static let radius = 6_371_008.8

  /// The largest figure in metres, or metres per second, that a receiver can mean.
  private static let largest = 1e8

  private static func known(_ value: Double?) -> Double? { value.flatMap { (0...largest).contains($0) ? $0 : nil } }

  /// Returns the distance in metres along the surface of a sphere, which differs from the real one by 0.5 % at most.
  public func distance(to other: CoverageLocation) -> Double {
    let rad = Double.pi / 180
    let lat = (other.latitude - latitude) * rad / 2
    let lon = (other.longitude - longitude) * rad / 2
    let half = sin(lat) * sin(lat) + cos(latitude * rad) * cos(other.latitude * rad) * sin(lon) * sin(lon)
    return 2 * Self.radius * asin(min(1, half.squareRoot()))
  }
}
