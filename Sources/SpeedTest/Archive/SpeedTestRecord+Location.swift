public import Places

extension SpeedTestRecord {
  /// A location during a test, as a receiver has measured it.
  public struct Location: Sendable, Hashable, Codable {
    /// The place of the machine.
    public var place: Place
    /// The kind of the source, such as `gpsd`.
    public var provider: String
    /// The time of the location in nanoseconds since the start of the test; negative for one from before.
    public var nanoseconds: Int64
    /// The estimated horizontal error in metres; `nil` if the source does not know it.
    public var error: Double?
    /// The height above sea level in metres; `nil` without one.
    public var altitude: Double?
    /// The speed over ground in metres per second; `nil` without one.
    public var speed: Double?
    /// The course over ground in degrees from north; `nil` without one.
    public var course: Double?

    /// Creates a location at a place.
    public init(_ place: Place, provider: String, nanoseconds: Int64) {
      self.place = place
      self.provider = provider
      self.nanoseconds = nanoseconds
    }

    var isPlausible: Bool {
      nanoseconds.magnitude < 1 << 56 && [error, altitude, speed, course].allSatisfy { $0?.isFinite ?? true }
    }
  }
}
