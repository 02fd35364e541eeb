/// A piece of data that crosses between a host and its controller: an L2CAP packet, or a part of one.
public struct ACLFragment: Sendable, Hashable {
  /// The number of the connection, 0 to 0xEFF.
  public var handle: UInt16
  /// A Boolean value that indicates whether the piece continues the packet before it.
  public var isContinuation: Bool
  /// The bytes of the piece.
  public var bytes: ArraySlice<UInt8>

  /// Decodes the content of a record of the kind `sentData` or `receivedData`.
  /// - Returns: `nil` for content that is shorter than its length says.
  public init?(_ content: [UInt8]) {
    var reader = ByteReader(content)
    guard let word = reader.uint16(), let length = reader.uint16(), let bytes = reader.bytes(Int(length)) else {
      return nil
    }
    handle = word & 0xfff
    isContinuation = word >> 12 & 3 == 1
    self.bytes = bytes
  }

  /// The bytes before those of the piece.
  static let headerLength = 4
}
