/// The sending side of a wearable: it numbers frames and divides them into notifications, as firmware does.
package struct FakeSender {
  /// The objects that packet numbers count: notifications, or frames.
  package enum Numbering: CaseIterable { case perNotification, perFrame }

  package var numbering = Numbering.perNotification
  /// The largest number of the codec's bytes in one notification.
  package var fragment = 244
  package var number: UInt16 = 0

  package init(numbering: Numbering = .perNotification, fragment: Int = 244, number: UInt16 = 0) {
    self.numbering = numbering
    self.fragment = fragment
    self.number = number
  }

  /// Returns the notifications of a frame.
  package mutating func notifications(_ frame: [UInt8]) -> [[UInt8]] {
    let starts = stride(from: 0, to: max(frame.count, 1), by: fragment)
    let values = starts.enumerated().map { index, start in
      if numbering == .perNotification, index > 0 { number &+= 1 }
      return [UInt8(truncatingIfNeeded: number), UInt8(number >> 8), UInt8(index)]
        + frame[start..<min(start + fragment, frame.count)]
    }
    number &+= 1
    return values
  }
}
