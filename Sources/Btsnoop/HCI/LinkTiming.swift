/// The parameters of a connection as the controllers use them.
public struct LinkTiming: Sendable, Hashable {
  /// The interval between connection events, in units of 1.25 ms.
  public var intervalUnits: UInt16
  /// The number of connection events in a row that the peripheral may skip.
  public var latency: UInt16
  /// The silence after which the connection is lost, in units of 10 ms.
  public var timeoutUnits: UInt16

  /// Creates parameters from their fields.
  public init(intervalUnits: UInt16, latency: UInt16, timeoutUnits: UInt16) {
    self.intervalUnits = intervalUnits
    self.latency = latency
    self.timeoutUnits = timeoutUnits
  }

  /// The interval between connection events, in milliseconds.
  public var interval: Double { Double(intervalUnits) * 1.25 }
  /// The silence after which the connection is lost, in milliseconds.
  public var timeout: Int { Int(timeoutUnits) * 10 }

  init?(_ reader: inout ByteReader) {
    guard let interval = reader.uint16(), let latency = reader.uint16(), let timeout = reader.uint16() else {
      return nil
    }
    self.init(intervalUnits: interval, latency: latency, timeoutUnits: timeout)
  }
}
