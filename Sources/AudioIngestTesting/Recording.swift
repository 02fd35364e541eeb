package import AudioIngest
package import DurableFiles
internal import Foundation
internal import Streams
internal import Timing

/// A recorder of PCM in a folder, fed with a ramp: sample `i` is `i` in 16 bits, so that each shows its position.
package struct Recording {
  package static let device = AudioDevice(address: "00:AA:01:00:00:42", name: "Omi")
  /// 2026-11-22 00:45:00 UTC.
  package static let start: Int64 = 1_795_308_300_000

  package let recorder: StreamRecorder
  private var sender = FakeSender()
  package private(set) var sent = 0
  package private(set) var now = Duration.zero

  package init(_ folder: SegmentFolder, _ rules: SegmentRules = SegmentRules()) throws {
    recorder = try StreamRecorder(Self.device, .pcm16k, framing: .omi, into: folder, rules: rules)
  }

  package var moment: Moment { Moment(instant: now, wallMs: Self.start + now.milliseconds(rounded: .toNearest)) }

  package static func ramp(_ range: Range<Int>) -> [Int16] {
    let start = range.lowerBound & 0xffff
    return start + range.count <= table.count
      ? Array(table[start..<(start + range.count)]) : range.map { Int16(truncatingIfNeeded: $0) }
  }

  /// The samples of long recordings are computed once.
  private static let table = (0..<262_144).map { Int16(truncatingIfNeeded: $0) }
  private static let tableBytes = bytes(table)

  /// Sends frames of 10 ms, each at its time.
  package mutating func play(frames: Int) {
    for _ in 0..<frames {
      now += .milliseconds(10)
      let start = (sent & 0xffff) * 2
      for value in sender.notifications(Array(Self.tableBytes[start..<(start + 320)])) {
        recorder.receive(value, at: moment)
      }
      sent += 160
    }
  }

  /// Loses frames: their numbers are used, but they never arrive.
  package mutating func lose(frames: Int) {
    for _ in 0..<frames { _ = sender.notifications([UInt8](repeating: 0, count: 320)) }
    sent += frames * 160
    now += .milliseconds(frames * 10)
  }

  package mutating func pass(_ duration: Duration) { now += duration }

  package static func bytes(_ samples: [Int16]) -> [UInt8] {
    samples.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
  }
}

extension StreamRecorder {
  /// Returns the segments that were finished since the last call.
  package func finished() -> [FinishedSegment] {
    takeEvents().compactMap { if case .finished(let segment) = $0 { segment } else { nil } }
  }
}

/// A disk on which chosen steps fail: the `n`th, or all from one on.
package final class DiskFaults: Sendable {
  /// A Boolean value that indicates whether `EDGEBLUE_DISK_STEPS=all` asks for a failure of each step with each error.
  private static let isWhole = ProcessInfo.processInfo.environment["EDGEBLUE_DISK_STEPS"] == "all"

  /// Returns the steps that fail, one after the other, and their errors: a full disk, or now and then another one.
  /// - Parameter usual: The distance between two of the steps, unless all of them fail.
  package static func plan(every usual: Int) -> AnySequence<(step: Int, number: Int32)> {
    if isWhole { return AnySequence((2...).lazy.map { ($0 / 2, $0.isMultiple(of: 2) ? ENOSPC : EIO) }) }
    let stride = usual * (Sanitizer.isOn ? 7 : 1)
    return AnySequence((0...).lazy.map { (1 + $0 * stride, $0 % 5 == 3 ? EIO : ENOSPC) })
  }

  private struct State {
    var steps = 0
    var failing: ClosedRange<Int>?
    var number: Int32 = 28
  }
  private let state = Lock(State())

  package init() {}

  package var disk: Disk {
    Disk { [state] _, _ in
      state.withLock { state in
        state.steps += 1
        return state.failing?.contains(state.steps) == true ? state.number : nil
      }
    }
  }

  /// The number of steps so far.
  package var steps: Int { state.withLock { $0.steps } }

  /// Makes the steps in a range fail.
  package func fail(_ range: ClosedRange<Int>?, with number: Int32) {
    state.withLock {
      $0.failing = range
      $0.number = number
    }
  }
}
