public import Places

/// A location that a receiver has measured.
public struct LoopFix: Sendable, Hashable {
  /// The place that the receiver has measured.
  public var place: Place
  /// The estimated error in metres; `nil` if the receiver does not know it.
  public var error: Double?
  /// The time since the measurement, as far as it is known.
  public var age: Duration

  /// Creates a location from a measurement.
  public init(place: Place, error: Double?, age: Duration = .zero) {
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
