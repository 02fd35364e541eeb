/// The power of a connection as the controllers measure it.
///
/// ```swift
/// let reading = try await device.linkReading()
/// print(reading.rssi.map { "received with \($0) dBm" } ?? "RSSI unknown")
/// ```
public struct LinkReading: Sendable, Hashable {
  /// The RSSI of the connection, in dBm; `nil` when the controller does not know it.
  public var rssi: Int?
  /// The power with which this host transmits to the peer, in dBm; `nil` when the controller does not know it.
  public var transmitPower: Int?
  /// The largest power with which this host can transmit to the peer, in dBm; `nil` when the controller does not know
  /// it.
  public var maximumTransmitPower: Int?

  /// Creates a reading from its fields, for tests of code that decides by them.
  public init(rssi: Int? = nil, transmitPower: Int? = nil, maximumTransmitPower: Int? = nil) {
    self.rssi = rssi
    self.transmitPower = transmitPower
    self.maximumTransmitPower = maximumTransmitPower
  }

  /// The value of a power that is not known.
  private static let unknown: Int8 = 127

  /// - Parameters:
  ///   - reply: The reply to Get Connection Information: address, kind and three powers.
  ///   - address: The address of the device with its kind.
  /// - Returns: `nil` for another device, or a reply that ends early.
  init?(_ reply: [UInt8], of address: [UInt8]) {
    var reader = LittleEndianReader(reply)
    guard let its = reader.bytes(7), Array(its) == address, let rssi = reader.int8(), let power = reader.int8(),
      let maximum = reader.int8()
    else { return nil }
    func known(_ power: Int8) -> Int? { power == Self.unknown ? nil : Int(power) }
    self.init(rssi: known(rssi), transmitPower: known(power), maximumTransmitPower: known(maximum))
  }
}
