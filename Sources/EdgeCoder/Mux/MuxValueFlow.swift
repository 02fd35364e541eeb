/// A state machine for one side of a v2 mux over GATT.
///
/// It splits frames into values as far as credit allows, and joins values to frames, also when they arrive out of order.
///
/// bluetoothd queues notifications and writes without bound, and silently drops those for which the socket of a program
/// has no space. Therefore no side has more values in flight than the window.
struct MuxValueFlow: Sendable {
  /// The number of values that may be in flight.
  ///
  /// The socket from bluetoothd to a program holds 167 values of full length, and before 5.76 also those of the muxes of
  /// other centrals: five windows.
  static let window = 32

  private let mux: UInt16
  private let frameLimit: Int
  private var unsent: ArraySlice<UInt8> = []
  private var nextNumber: UInt8 = 0
  private var credit = window
  private var expected: UInt8 = 0
  /// The values that arrived before their predecessors.
  private var early: [UInt8: MuxValue] = [:]
  private var partial: [UInt8] = []
  /// The number of values taken for which no credit was sent yet.
  private var taken = 0

  /// - Parameters:
  ///   - mux: The number of the mux.
  ///   - frameLimit: The limit on a received frame, in bytes.
  init(mux: UInt16, frameLimit: Int) {
    self.mux = mux
    self.frameLimit = frameLimit
  }

  // MARK: Sending

  /// A Boolean value that indicates whether the whole frame was sent.
  var isSpent: Bool { unsent.isEmpty }

  /// Starts sending a frame; the previous one must be spent.
  mutating func send(_ frame: [UInt8]) { unsent = frame[...] }

  /// Returns the next value of the frame; `nil` when the frame is spent or no credit is left.
  /// - Parameter limit: The present limit of the bearer on one value, in bytes.
  mutating func next(limit: Int) -> MuxValue? {
    guard !unsent.isEmpty, credit > 0 else { return nil }
    let bytes = unsent.prefix(max(1, limit - MuxValue.overhead))
    unsent = unsent.dropFirst(bytes.count)
    defer {
      credit -= 1
      nextNumber &+= 1
    }
    return MuxValue(mux: mux, kind: unsent.isEmpty ? .last : .piece, number: nextNumber, bytes: Array(bytes))
  }

  /// Adds credit for values that the peer has taken.
  mutating func grant(_ count: UInt8) throws(MalformedFrame) {
    guard credit + Int(count) <= Self.window else {
      throw MalformedFrame(description: "credit for values that were not sent")
    }
    credit += Int(count)
  }

  // MARK: Receiving

  /// A Boolean value that indicates whether a part of a frame waits for the rest.
  var isUnfinished: Bool { !partial.isEmpty || !early.isEmpty }

  /// Takes a part of a frame.
  /// - Returns: The frames that are complete now.
  mutating func receive(_ value: MuxValue) throws(MalformedFrame) -> [[UInt8]] {
    guard value.number &- expected < Self.window, early.updateValue(value, forKey: value.number) == nil else {
      throw MalformedFrame(description: "a value out of order")
    }
    var frames: [[UInt8]] = []
    while let value = early.removeValue(forKey: expected) {
      expected &+= 1
      taken += 1
      partial += value.bytes
      guard partial.count <= frameLimit else {
        throw MalformedFrame(description: "a frame of more than \(frameLimit) bytes")
      }
      if value.kind == .last {
        frames.append(partial)
        partial = []
      }
    }
    return frames
  }

  /// Returns the credit to send now; `nil` while it is not worth a value.
  mutating func creditDue() -> MuxValue? {
    guard taken >= Self.window / 2 else { return nil }
    defer { taken = 0 }
    return MuxValue(mux: mux, kind: .credit, number: UInt8(taken))
  }
}
