@testable import AudioIngest

/// Returns a frame that contains its index.
func numberedFrame(_ index: Int, length: Int) -> [UInt8] {
  (0..<4).map { UInt8(truncatingIfNeeded: index >> ($0 * 8)) } + [UInt8](repeating: 0xa5, count: length - 4)
}

func frameIndex(_ frame: ArraySlice<UInt8>) -> Int {
  frame.prefix(4).enumerated().reduce(0) { $0 | Int($1.element) << ($1.offset * 8) }
}

extension FrameReassembler {
  /// Returns the events of notifications 10 ms apart, and of the end of the stream.
  /// - Parameter pauses: A closure that returns `true` if no notification arrives for a while when so much waits.
  mutating func events(
    _ notifications: [[UInt8]], pauses: ((bytes: Int, packets: Int)) -> Bool = { _ in false }
  ) -> [FrameEvent] {
    var events: [FrameEvent] = []
    for (index, value) in notifications.enumerated() {
      receive(value, at: .milliseconds(index * 10), into: &events)
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
