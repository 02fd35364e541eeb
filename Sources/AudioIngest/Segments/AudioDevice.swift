/// The device that sends audio, by its address and its name.
public struct AudioDevice: Sendable, Hashable {
  /// The device's Bluetooth address, such as `FA:0B:00:00:00:01`.
  public var address: String
  /// The name that the device reports, if it does.
  public var name: String?

  /// Creates a device from its address and name.
  public init(address: String, name: String? = nil) {
    self.address = address
    self.name = name
  }
}
