internal import Glibc

/// A place on the Earth, in degrees of WGS 84.
public struct LoopPlace: Sendable, Hashable, Codable {
  /// The latitude in degrees, −90 to 90.
  public let latitude: Double
  /// The longitude in degrees, −180 to 180.
  public let longitude: Double

  /// Creates a place; returns `nil` for degrees out of their range.
  public init?(latitude: Double, longitude: Double) {
    self.latitude = latitude
    self.longitude = longitude
    guard isPlausible else { return nil }
  }

  /// The mean radius of the Earth in metres.
  private static let radius = 6_371_008.8

  /// Returns the distance in metres along the surface of a sphere, which differs from the real one by 0.5 % at most.
  public func distance(to other: LoopPlace) -> Double {
    let rad = Double.pi / 180
    let lat = (other.latitude - latitude) * rad / 2
    let lon = (other.longitude - longitude) * rad / 2
    let half =
      sin(lat) * sin(lat) + cos(latitude * rad) * cos(other.latitude * rad) * sin(lon) * sin(lon)
    return 2 * Self.radius * asin(min(1, half.squareRoot()))
  }

  var isPlausible: Bool { (-90...90).contains(latitude) && (-180...180).contains(longitude) }
}

/// A location that a receiver has measured.
public struct LoopFix: Sendable, Hashable {
  /// The place that the receiver has measured.
  public var place: LoopPlace
  /// The estimated error in metres; `nil` if the receiver does not know it.
  public var error: Double?
  /// The time since the measurement, as far as it is known.
  public var age: Duration

  /// Creates a location from a measurement.
  public init(place: LoopPlace, error: Double?, age: Duration = .zero) {
    self.place = place
    self.error = error
    self.age = age
  }

  /// The age above which a location does not count.
  public static let longestAge = Duration.seconds(30)

  /// Returns `true` if the location is recent, and its error known and small enough.
  func counts(within largest: Double) -> Bool {
    guard let error, error >= 0 else { return false }
    return error <= largest && age >= .zero && age <= Self.longestAge
  }
}
