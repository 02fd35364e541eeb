/// One side of a v2 link over GATT: cuts frames into values as far as there is credit, and puts values together to
/// frames, also when they come in another order.
///
/// bluetoothd queues notifications and writes without bound, and it drops without a word what a program's socket has
/// no room for. So nobody has more values on their way than the window.
///
/// A value type without clock or I/O.
struct LinkValueFlow: Sendable {
  /// How many values may be on their way.
  ///
  /// bluetoothd's socket to a program has room for 167 values of full length, and below 5.76 holds those of other
  /// centrals' links as well: five windows.
  static let window = 32

  private let link: UInt16
  private let frameLimit: Int
  private var unsent: ArraySlice<UInt8> = []
  private var nextNumber: UInt8 = 0
  private var credit = window
  private var expected: UInt8 = 0
  /// What came before its turn.
  private var early: [UInt8: LinkValue] = [:]
  private var begun: [UInt8] = []
  /// Values taken for which no credit was given yet.
  private var taken = 0

  /// - Parameters:
  ///   - link: the link's number.
  ///   - frameLimit: the longest frame to put together, in bytes.
  init(link: UInt16, frameLimit: Int) {
    self.link = link
    self.frameLimit = frameLimit
  }

  // MARK: Out

  /// Whether all of the frame was sent.
  var isSpent: Bool { unsent.isEmpty }

  /// Begins a frame; the one before must be spent.
  mutating func send(_ frame: [UInt8]) { unsent = frame[...] }

  /// The next value of the frame; `nil` when it is spent, or there is no credit.
  /// - Parameter limit: the longest value the bearer takes now.
  mutating func next(limit: Int) -> LinkValue? {
    guard !unsent.isEmpty, credit > 0 else { return nil }
    let bytes = unsent.prefix(max(1, limit - LinkValue.overhead))
    unsent = unsent.dropFirst(bytes.count)
    defer {
      credit -= 1
      nextNumber &+= 1
    }
    return LinkValue(link: link, kind: unsent.isEmpty ? .last : .piece, number: nextNumber, bytes: Array(bytes))
  }

  /// The other side has taken values.
  mutating func grant(_ count: UInt8) throws(MalformedFrame) {
    guard credit + Int(count) <= Self.window else { throw MalformedFrame(description: "credit for values not sent") }
    credit += Int(count)
  }

  // MARK: In

  /// Takes a piece or the end of a frame.
  /// - Returns: the frames that are whole now.
  mutating func take(_ value: LinkValue) throws(MalformedFrame) -> [[UInt8]] {
    guard value.number &- expected < Self.window, early.updateValue(value, forKey: value.number) == nil else {
      throw MalformedFrame(description: "a value out of its order")
    }
    var frames: [[UInt8]] = []
    while let value = early.removeValue(forKey: expected) {
      expected &+= 1
      taken += 1
      begun += value.bytes
      guard begun.count <= frameLimit else {
        throw MalformedFrame(description: "a frame of more than \(frameLimit) bytes")
      }
      if value.kind == .last {
        frames.append(begun)
        begun = []
      }
    }
    return frames
  }

  /// The credit to give now; `nil` while it is not worth a value.
  mutating func creditDue() -> LinkValue? {
    guard taken >= Self.window / 2 else { return nil }
    defer { taken = 0 }
    return LinkValue(link: link, kind: .credit, number: UInt8(taken))
  }
}
