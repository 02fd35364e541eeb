/// Functions that split a message into chunks for notifications or writes.
///
/// The chunks have no header: their concatenation is the message.
///
/// ```swift
/// let size = Chunker.notificationSize(mtu: 185)
/// let chunks = Chunker.chunks(of: [UInt8](repeating: 0, count: 400), size: size)
/// print(chunks.map(\.count))  // [182, 182, 36]
/// ```
public enum Chunker {
  /// The smallest ATT MTU of Bluetooth LE, 23 bytes (Bluetooth Core, Vol 3, Part G, 5.2.1).
  ///
  /// This MTU applies until that of the connection is known.
  public static let minimumMTU = 23

  /// The limit on an attribute value, 512 bytes.
  public static let valueLimit = 512

  /// The limit on one chunk of a request, 508 bytes.
  ///
  /// A GATT server on BlueZ before 5.70 compares the length of the PDU instead of the value's with its limit, and drops
  /// writes of 511 and 512 bytes and long writes of more than 508.
  public static let requestLimit = 508

  /// Returns the limit on the payload of one notification: min(512, MTU − 3) bytes.
  ///
  /// BlueZ and CoreBluetooth truncate longer notifications without an error.
  /// - Parameter mtu: The ATT MTU of the connection; `nil`, or a value below 23, counts as 23.
  public static func notificationSize(mtu: Int?) -> Int {
    min(valueLimit, max(minimumMTU, mtu ?? 0) - 3)
  }

  /// Returns the limit on one chunk of a request: min(508, MTU − 3) bytes.
  ///
  /// A chunk of this size is one write request, which every phone accepts.
  /// - Parameter mtu: The ATT MTU of the connection; `nil`, or a value below 23, counts as 23.
  public static func requestSize(mtu: Int?) -> Int {
    min(requestLimit, max(minimumMTU, mtu ?? 0) - 3)
  }

  /// Returns the chunks of a message in order; an empty message has none.
  /// - Parameters:
  ///   - message: The bytes of the message.
  ///   - size: The limit on one chunk in bytes; less than 1 counts as 1.
  public static func chunks(of message: [UInt8], size: Int) -> [ArraySlice<UInt8>] {
    let size = max(1, size)
    return stride(from: 0, to: message.count, by: size).map { message[$0..<min($0 + size, message.count)] }
  }
}
