/// The parameters that determine how often the two ends of an LE connection meet, and after which silence it is lost.
///
/// ```swift
/// let quick = ConnectionParameters(interval: .milliseconds(7.5) ... .milliseconds(15), supervisionTimeout: .seconds(2))
/// try await adapter.setPreferredConnectionParameters(quick)
/// ```
///
/// A short interval makes exchanges quick and costs energy; a latency lets the peripheral skip connection events.
public struct ConnectionParameters: Sendable, Hashable {
  /// The interval between connection events, 7.5 ms to 4 s in steps of 1.25 ms: the controller of the central chooses
  /// one in this range.
  public var interval: ClosedRange<Duration>
  /// The number of connection events in a row that the peripheral may skip, 0 to 499.
  public var latency: Int
  /// The silence after which the connection is lost, 100 ms to 32 s in steps of 10 ms: more than two longest intervals
  /// with the skipped connection events.
  public var supervisionTimeout: Duration

  /// Creates parameters from their fields.
  public init(interval: ClosedRange<Duration>, latency: Int = 0, supervisionTimeout: Duration) {
    self.interval = interval
    self.latency = latency
    self.supervisionTimeout = supervisionTimeout
  }

  private static let intervals = Duration.microseconds(7500)...Duration.seconds(4)
  private static let timeouts = Duration.milliseconds(100)...Duration.seconds(32)
  private static let intervalUnit = Duration.microseconds(1250)
  private static let timeoutUnit = Duration.milliseconds(10)

  /// - Parameters:
  ///   - least: The shortest interval, in units of 1.25 ms.
  ///   - most: The longest interval.
  ///   - latency: The number of connection events.
  ///   - timeout: The supervision timeout, in units of 10 ms.
  /// - Returns: `nil` for an interval that ends before it begins.
  package init?(least: UInt16, most: UInt16, latency: UInt16, timeout: UInt16) {
    guard least <= most else { return nil }
    self.init(
      interval: Self.intervalUnit * Int(least)...Self.intervalUnit * Int(most), latency: Int(latency),
      supervisionTimeout: Self.timeoutUnit * Int(timeout))
  }

  /// The fields as the kernel has them: the interval's ends, the latency and the timeout.
  /// - Throws: ``BlueZError``, `.invalidArgument`; the kernel ignores such parameters without a word.
  package func fields(_ doing: String) throws -> [UInt16] {
    guard Self.intervals.contains(interval.lowerBound), Self.intervals.contains(interval.upperBound) else {
      throw BlueZError(
        .invalidArgument,
        "\(doing): the interval is \(interval.lowerBound) to \(interval.upperBound); allowed: 7.5 ms to 4 s")
    }
    guard (0...499).contains(latency) else {
      throw BlueZError(.invalidArgument, "\(doing): the latency is \(latency); allowed: 0 to 499")
    }
    // Core Specification 6.B.4.5.2.
    let least = interval.upperBound * 2 * (latency + 1)
    guard Self.timeouts.contains(supervisionTimeout), supervisionTimeout > least else {
      throw BlueZError(
        .invalidArgument,
        "\(doing): the supervision timeout is \(supervisionTimeout); allowed: 100 ms to 32 s, and more than \(least)")
    }
    return [
      UInt16(interval.lowerBound / Self.intervalUnit), UInt16(interval.upperBound / Self.intervalUnit),
      UInt16(latency), UInt16(supervisionTimeout / Self.timeoutUnit),
    ]
  }

  // MARK: Packets

  /// The types of the defaults in the reply to Read Default System Configuration, in the order of ``fields(_:)``.
  private static let defaultTypes: [UInt16] = [0x17, 0x18, 0x19, 0x1a]

  /// - Parameter defaults: The reply to Read Default System Configuration: entries with a type, a length and a value.
  /// - Returns: `nil` when it lacks one of the four, or ends early.
  init?(defaults: [UInt8]) {
    var reader = LittleEndianReader(defaults)
    var values: [UInt16: UInt16] = [:]
    while !reader.rest.isEmpty {
      guard let type = reader.uint16(), let length = reader.uint8(), let value = reader.bytes(Int(length)) else {
        return nil
      }
      var number = LittleEndianReader(Array(value))
      if length == 2 { values[type] = number.uint16() }
    }
    let fields = Self.defaultTypes.compactMap { values[$0] }
    guard fields.count == 4 else { return nil }
    self.init(least: fields[0], most: fields[1], latency: fields[2], timeout: fields[3])
  }

  /// Returns the parameters of Set Default System Configuration.
  func defaults(_ doing: String) throws -> [UInt8] {
    zip(Self.defaultTypes, try fields(doing)).flatMap { $0.littleEndianBytes + [2] + $1.littleEndianBytes }
  }

  /// - Parameters:
  ///   - event: The parameters of the event New Connection Parameter: address, kind, a hint for storing, fields.
  ///   - address: The address of the device with its kind.
  /// - Returns: `nil` for another device, or an event that ends early.
  init?(event: [UInt8], of address: [UInt8]) {
    var reader = LittleEndianReader(event)
    guard let its = reader.bytes(7), Array(its) == address, reader.uint8() != nil, let least = reader.uint16(),
      let most = reader.uint16(), let latency = reader.uint16(), let timeout = reader.uint16()
    else { return nil }
    self.init(least: least, most: most, latency: latency, timeout: timeout)
  }
}
