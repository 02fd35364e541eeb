/// Puts the packets of one direction of a channel with credits together to messages (SDUs).
struct ChannelAssembler: Sendable {
  private var partial: [UInt8] = []
  private var length: Int?

  /// The number of bytes that wait for the rest of their message.
  var waiting: Int { partial.count }

  /// Adds the content of a packet.
  /// - Returns: The message that it completes.
  mutating func add(_ payload: ArraySlice<UInt8>) -> [UInt8]? {
    var content = payload
    if length == nil {
      var fields = ByteReader(payload)
      guard let announced = fields.uint16() else { return nil }
      length = Int(announced)
      content = fields.rest
    }
    guard let length else { return nil }
    partial += content
    guard partial.count >= length else { return nil }
    defer { reset() }
    // More than was announced is a fault of the peer, and closes the channel.
    return partial.count == length ? partial : nil
  }

  mutating func reset() {
    partial = []
    length = nil
  }
}
