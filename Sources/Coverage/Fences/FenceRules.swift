/// The rules of fences that depend on nothing but their arguments.
public enum FenceRules {
  /// The largest error in metres of a location that counts.
  public static let preciseAccuracy = 15.0
  /// The smallest radius of a fence in metres.
  public static let smallestRadius = 15.0
  /// The time after the start from which on an imprecise location is warned of.
  public static let warningDelay = Duration.seconds(3)
  /// The time after the start at which a run without any precise location ends.
  public static let patience = Duration.seconds(1800)

  /// Returns `true` if the error of a location is known, and at most 15 m.
  public static func isPrecise(_ location: CoverageLocation) -> Bool {
    guard let accuracy = location.accuracy else { return false }
    return (0...preciseAccuracy).contains(accuracy)
  }

  /// Returns the radius in metres of a fence that is entered at a location.
  ///
  /// It is large enough for the error of the location at both ends, and for the way of one second.
  public static func radius(at location: CoverageLocation) -> Double {
    max(smallestRadius, 10 + 2 * usable(location.accuracy), usable(location.speed))
  }

  /// Returns `true` if a location lies outside a fence, and so begins another one.
  public static func leaves(_ fence: Fence, to location: CoverageLocation) -> Bool {
    fence.place.place.distance(to: location.place) >= fence.radius
  }

  /// The reason for which a run cannot start yet.
  public enum Obstacle: Sendable, Hashable {
    /// No location is known yet.
    case noLocation
    /// The error of the location is unknown, or larger than 15 m.
    case imprecise
    /// Packets go over Wi-Fi, which is not measured.
    case wifi
  }

  /// Returns what keeps a run from starting; `nil` if nothing does.
  public static func obstacle(at location: CoverageLocation?, over network: CoverageNetwork) -> Obstacle? {
    guard let location else { return .noLocation }
    guard isPrecise(location) else { return .imprecise }
    return network == .wifi ? .wifi : nil
  }

  private static func usable(_ value: Double?) -> Double {
    guard let value, value.isFinite else { return 0 }
    return max(value, 0)
  }
}
