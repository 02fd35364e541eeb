/// Cuts messages into the pieces that fit one notification or one write.
///
/// The pieces carry no header: put together they are exactly the message.
public enum Chunker {
  /// The smallest ATT MTU of LE, in bytes (Bluetooth Core, Vol 3, Part G, 5.2.1); what counts until a link's MTU is
  /// known.
  public static let minimumMTU = 23

  /// The longest GATT value, 512 bytes.
  public static let valueLimit = 512

  /// The longest request piece, 508 bytes: a server on BlueZ before 5.70 drops plain writes of 511 and 512 bytes and
  /// long writes over 508, because it checks the length of the PDU instead of the value's.
  public static let requestLimit = 508

  /// The bytes one notification may carry: min(512, MTU − 3). What is longer, BlueZ and CoreBluetooth cut off without
  /// a word.
  /// - Parameter mtu: the ATT MTU of the link; below 23, or unknown, counts as 23.
  public static func notificationSize(mtu: Int?) -> Int {
    min(valueLimit, max(minimumMTU, mtu ?? 0) - 3)
  }

  /// The bytes one piece of a request may have: min(508, MTU − 3), so that each piece is one plain write request that
  /// every phone accepts.
  /// - Parameter mtu: the ATT MTU of the link; below 23, or unknown, counts as 23.
  public static func requestSize(mtu: Int?) -> Int {
    min(requestLimit, max(minimumMTU, mtu ?? 0) - 3)
  }

  /// The pieces of a message, in order; none for an empty message.
  /// - Parameters:
  ///   - message: all of it.
  ///   - size: the longest piece; less than 1 counts as 1.
  public static func chunks(of message: [UInt8], size: Int) -> [ArraySlice<UInt8>] {
    let size = max(1, size)
    return stride(from: 0, to: message.count, by: size).map { message[$0..<min($0 + size, message.count)] }
  }
}
