@testable import AudioIngest

/// The sending side of a wearable: numbers frames and cuts them into notifications as firmware does.
struct FakeSender {
  /// Whether each notification has a number of its own, or all pieces of a frame share one.
  enum Numbering: CaseIterable { case perNotification, perFrame }

  var numbering = Numbering.perNotification
  /// The most bytes of codec in one notification.
  var fragment = 244
  var number: UInt16 = 0

  mutating func notifications(_ frame: [UInt8]) -> [[UInt8]] {
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

/// A frame that says which one it is.
func numberedFrame(_ index: Int, length: Int) -> [UInt8] {
  (0..<4).map { UInt8(truncatingIfNeeded: index >> ($0 * 8)) } + [UInt8](repeating: 0xa5, count: length - 4)
}

func frameIndex(_ frame: ArraySlice<UInt8>) -> Int {
  frame.prefix(4).enumerated().reduce(0) { $0 | Int($1.element) << ($1.offset * 8) }
}

extension FrameReassembler {
  /// What comes of notifications of one instant each, 10 ms apart, and of the end.
  /// - Parameter pauses: whether nothing comes for a while, when so much waits.
  mutating func events(
    _ notifications: [[UInt8]], pauses: ((bytes: Int, packets: Int)) -> Bool = { _ in false }
  ) -> [FrameEvent] {
    var events: [FrameEvent] = []
    for (index, value) in notifications.enumerated() {
      take(value, at: .milliseconds(index * 10), into: &events)
      if pauses(pending) { pause(at: .milliseconds(index * 10), into: &events) }
    }
    flush(at: .milliseconds(notifications.count * 10), into: &events)
    return events
  }
}

extension FrameEvent {
  var frame: ArraySlice<UInt8>? { if case .frame(let frame) = self { frame } else { nil } }
  var lost: Int { if case .lost(let frames) = self { frames } else { 0 } }
}
