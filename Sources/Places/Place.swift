internal import Glibc

/// A place on the Earth, in degrees of WGS 84.
///
/// ```swift
/// if let vienna = Place(latitude: 48.2082, longitude: 16.3738), let graz = Place(latitude: 47.0707, longitude: 15.4395) {
///   print(vienna.distance(to: graz))  // about 145,000 m
/// }
/// ```
public struct Place: Sendable, Hashable {
  /// The latitude in degrees, −90 to 90.
  public let latitude: Double
  /// The longitude in degrees, −180 to 180.
  public let longitude: Double

  /// The mean radius of the Earth in metres.
  private static let radius = 6_371_008.8

  /// Creates a place; returns `nil` for degrees out of their range.
  public init?(latitude: Double, longitude: Double) {
    guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
    self.latitude = latitude
    self.longitude = longitude
  }

  /// Returns the distance in metres along the surface of a sphere, which differs from the real one by 0.5 % at most.
  public func distance(to other: Place) -> Double {
    let rad = Double.pi / 180
    let lat = (other.latitude - latitude) * rad / 2
    let lon = (other.longitude - longitude) * rad / 2
    let half = sin(lat) * sin(lat) + cos(latitude * rad) * cos(other.latitude * rad) * sin(lon) * sin(lon)
    return 2 * Self.radius * asin(min(1, half.squareRoot()))
  }
}

extension Place: Codable {
  private enum CodingKeys: String, CodingKey {
    case latitude, longitude
  }

  /// Creates a place from its degrees.
  /// - Throws: `DecodingError` for degrees out of their range, too.
  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    guard
      let place = Place(
        latitude: try members.decode(Double.self, forKey: .latitude),
        longitude: try members.decode(Double.self, forKey: .longitude))
    else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "degrees that are no place"))
    }
    self = place
  }
}
