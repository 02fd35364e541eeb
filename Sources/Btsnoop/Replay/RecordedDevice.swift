/// A device as a recording shows it: its advertisement, its attributes, its answers and the values it sent.
///
/// ```swift
/// import Foundation
///
/// let file = try Data(contentsOf: URL(filePath: "lamp.btsnoop"))
/// let lamp = try RecordedDevice(recording: Array(file))
/// print(lamp.address, lamp.table.services.map(\.uuid))
/// ```
///
/// A value that the device sent belongs to what caused it. Of a characteristic that sent something after a subscription
/// and before the client wrote anything to its service, all values belong to the subscription: it is a stream. Values of
/// other characteristics belong to the last write to their service before them.
public struct RecordedDevice: Sendable, Hashable {
  /// The answer to a read: a value, or the reason of a refusal.
  public struct Answer: Sendable, Hashable {
    /// The value; empty for a refusal.
    public var value: [UInt8]
    /// The reason of the refusal; `nil` for a value.
    public var error: ATTError?

    /// Creates an answer with a value, or with the reason of a refusal.
    public init(_ value: [UInt8], error: ATTError? = nil) {
      self.value = value
      self.error = error
    }
  }

  /// A value that the device sent.
  public struct Sent: Sendable, Hashable {
    /// The handle of the value.
    public var handle: UInt16
    /// The value that the device sent.
    public var value: [UInt8]
    /// A Boolean value that indicates whether it was an indication.
    public var isIndication: Bool
    /// The microseconds after its cause.
    public var delay: Int64

    /// Creates a value that is sent some microseconds after its cause.
    public init(handle: UInt16, value: [UInt8], isIndication: Bool = false, delay: Int64 = 0) {
      self.handle = handle
      self.value = value
      self.isIndication = isIndication
      self.delay = delay
    }
  }

  /// The cause of what a device does.
  public enum Cause: Sendable, Hashable {
    /// A client connected to the device.
    case connection
    /// A client subscribed to the characteristic with its value at a handle.
    case subscription(handle: UInt16)
    /// A client wrote a value to a handle.
    case write(handle: UInt16, [UInt8])
  }

  /// The reaction of a device to a cause.
  public struct Reaction: Sendable, Hashable {
    /// The cause of the reaction, for example a write.
    public var cause: Cause
    /// The reason of a refusal; `nil` when the device accepted.
    public var error: ATTError?
    /// The values that it sent, in order.
    public var sent: [Sent]

    /// Creates a reaction to a cause.
    public init(_ cause: Cause, error: ATTError? = nil, sent: [Sent] = []) {
      self.cause = cause
      self.error = error
      self.sent = sent
    }
  }

  /// The address of the device.
  public var address: DeviceAddress
  /// The data that it advertised, with that of its scan response.
  public var advertisement: AdvertisingData
  /// A Boolean value that indicates whether it accepted connections.
  public var isConnectable: Bool
  /// The RSSI of its last advertisement in dBm; `nil` when that is unknown.
  public var rssi: Int?
  /// The ATT MTU of its last connection, in bytes.
  public var mtu: Int
  /// The attributes that a client found.
  public var table: AttributeTable
  /// The answers to reads by their handles, in order.
  public var answers: [UInt16: [Answer]]
  /// The reactions in the order of the recording.
  public var reactions: [Reaction]
  /// The handles that were refused until the connection was encrypted.
  public var protected: Set<UInt16>

  /// Creates a device that does nothing yet.
  public init(address: DeviceAddress) {
    self.address = address
    advertisement = AdvertisingData([])
    isConnectable = true
    mtu = 23
    table = AttributeTable()
    answers = [:]
    reactions = []
    protected = []
  }
}
