/// The connection parameters that a peripheral prefers.
///
/// ```swift
/// let preferred = try PreferredConnectionParameters(bytes: [24, 0, 40, 0, 0, 0, 0xf4, 1])
/// print(preferred.shortestInterval ?? .zero)  // 0.03 seconds
/// ```
public struct PreferredConnectionParameters: CharacteristicValue {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a04
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Peripheral Preferred Connection Parameters"
  private static let none: UInt16 = 0xffff

  /// The shortest connection interval, 7.5 ms to 4 s in steps of 1.25 ms; `nil` without a preference.
  public var shortestInterval: Duration? { Self.duration(shortest, of: .microseconds(1250)) }
  /// The longest connection interval, 7.5 ms to 4 s in steps of 1.25 ms; `nil` without a preference.
  public var longestInterval: Duration? { Self.duration(longest, of: .microseconds(1250)) }
  /// The number of connection events that the peripheral may skip, 0 to 499.
  public let latency: UInt16
  /// The supervision timeout, 100 ms to 32 s in steps of 10 ms; `nil` without a preference.
  public var supervisionTimeout: Duration? { Self.duration(timeout, of: .milliseconds(10)) }

  private let shortest: UInt16
  private let longest: UInt16
  private let timeout: UInt16

  /// Creates preferences; durations are rounded down to their steps.
  /// - Throws: ``ProfileError`` with the code `.invalidArgument` outside the ranges of the properties.
  public init(shortestInterval: Duration?, longestInterval: Duration?, latency: UInt16, supervisionTimeout: Duration?)
    throws(ProfileError)
  {
    let interval = Duration.microseconds(1250)
    self.latency = latency
    shortest = Self.steps(shortestInterval, of: interval)
    longest = Self.steps(longestInterval, of: interval)
    timeout = Self.steps(supervisionTimeout, of: .milliseconds(10))
    if let fault { throw ProfileError(.invalidArgument, "\(Self.name): \(fault)") }
  }

  /// Creates preferences from what was read.
  /// - Throws: ``ProfileError`` with the code `.tooShort`, or `.invalidField` outside the ranges.
  public init(_ reader: inout ByteReader) throws(ProfileError) {
    shortest = try reader.integer()
    longest = try reader.integer()
    latency = try reader.integer()
    timeout = try reader.integer()
    if let fault { throw .invalidField("\(Self.name): \(fault)") }
  }

  /// The bytes of the value, to be sent.
  public var bytes: [UInt8] { [shortest, longest, latency, timeout].flatMap(\.littleEndianBytes) }

  private var fault: String? {
    let intervals = [shortest, longest].filter { $0 != Self.none }
    guard intervals.allSatisfy({ 6...3200 ~= $0 }) else { return "an interval is 7.5 ms to 4 s" }
    guard intervals.count < 2 || shortest <= longest else { return "the shortest interval is longer than the longest" }
    guard latency < 500 else { return "the latency \(latency) is not in 0–499" }
    return timeout == Self.none || 10...3200 ~= timeout ? nil : "a supervision timeout is 100 ms to 32 s"
  }

  private static func duration(_ steps: UInt16, of step: Duration) -> Duration? {
    steps == none ? nil : step * Int(steps)
  }

  /// The number of steps in a duration. One that is too large or negative becomes 0, which is outside every range.
  private static func steps(_ duration: Duration?, of step: Duration) -> UInt16 {
    guard let duration else { return none }
    let count = (duration / step).rounded(.down)
    return count >= 0 && count < Double(none) ? UInt16(count) : 0
  }
}
