/// The receive window of one stream: the credit that this side granted to its peer.
struct MuxReceiveWindow: Sendable {
  private let window: Int
  /// The number of bytes that the peer may still send.
  private(set) var granted: Int
  /// The number of bytes consumed since the last credit.
  private var taken = 0

  init(window: Int) {
    self.window = window
    granted = window
  }

  /// Records received text.
  /// - Throws: ``MalformedFrame`` for more text than credit.
  mutating func receive(_ count: Int) throws(MalformedFrame) {
    guard count <= granted else {
      throw MalformedFrame(description: "\(count - granted) bytes of text without credit")
    }
    granted -= count
  }

  /// Records text that the consumer has taken.
  /// - Returns: The credit to send now; `nil` while it is not worth a frame.
  mutating func consume(_ count: Int) -> UInt32? {
    taken += count
    guard taken >= window / 2 else { return nil }
    defer { taken = 0 }
    granted += taken
    return UInt32(taken)
  }
}
