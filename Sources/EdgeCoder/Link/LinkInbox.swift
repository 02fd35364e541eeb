/// The credit this side has given for one stream's text.
struct LinkInbox: Sendable {
  private let window: Int
  /// What the other side may still send.
  private var granted: Int
  /// What was taken since credit was last given.
  private var taken = 0

  init(window: Int) {
    self.window = window
    granted = window
  }

  /// Text came.
  /// - Throws: when there was no credit for it.
  mutating func receive(_ count: Int) throws(MalformedFrame) {
    guard count <= granted else {
      throw MalformedFrame(description: "\(count - granted) bytes more than it had credit for")
    }
    granted -= count
  }

  /// Text was taken by whoever it is for.
  /// - Returns: the credit to give now; `nil` while it is not worth a frame.
  mutating func take(_ count: Int) -> UInt32? {
    taken += count
    guard taken >= window / 2 else { return nil }
    defer { taken = 0 }
    granted += taken
    return UInt32(taken)
  }
}
