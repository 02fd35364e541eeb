import Foundation
import Streams

@testable import AudioIngest

/// A recorder of PCM in a folder, played from a ramp: sample `i` is `i` of 16 bits, so that each tells its place.
struct Recording {
  static let device = AudioDevice(address: "00:AA:01:00:00:42", name: "Omi")
  /// 2026-11-22 00:45:00 UTC.
  static let start: Int64 = 1_795_308_300_000

  let recorder: StreamRecorder
  private var sender = FakeSender()
  private(set) var sent = 0
  private(set) var now = Duration.zero

  init(_ folder: SegmentFolder, _ rules: SegmentRules = SegmentRules()) throws {
    recorder = try StreamRecorder(Self.device, .pcm16k, framing: .omi, into: folder, rules: rules)
  }

  var moment: Moment { Moment(instant: now, wallMs: Self.start + now.wholeMilliseconds) }

  static func ramp(_ range: Range<Int>) -> [Int16] {
    let start = range.lowerBound & 0xffff
    return start + range.count <= table.count
      ? Array(table[start..<(start + range.count)]) : range.map { Int16(truncatingIfNeeded: $0) }
  }

  /// What is played by the hour is not computed anew each time.
  private static let table = (0..<262_144).map { Int16(truncatingIfNeeded: $0) }
  private static let tableBytes = bytes(table)

  /// Sends frames of 10 ms, each when it would be.
  mutating func play(frames: Int) {
    for _ in 0..<frames {
      now += .milliseconds(10)
      let start = (sent & 0xffff) * 2
      for value in sender.notifications(Array(Self.tableBytes[start..<(start + 320)])) {
        recorder.take(value, at: moment)
      }
      sent += 160
    }
  }

  /// Frames that never arrive: the numbers go on.
  mutating func lose(frames: Int) {
    for _ in 0..<frames { _ = sender.notifications([UInt8](repeating: 0, count: 320)) }
    sent += frames * 160
    now += .milliseconds(frames * 10)
  }

  mutating func pass(_ duration: Duration) { now += duration }

  static func bytes(_ samples: [Int16]) -> [UInt8] {
    samples.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
  }
}

extension StreamRecorder {
  /// The segments that were finished since the last call.
  func finished() -> [FinishedSegment] {
    takeEvents().compactMap { if case .finished(let segment) = $0 { segment } else { nil } }
  }
}

/// Has a step of a disk fail: the `n`th, or all from some moment on.
final class DiskFaults: Sendable {
  /// With `EDGEBLUE_DISK_STEPS=all` each step fails, and with each error.
  private static let isWhole = ProcessInfo.processInfo.environment["EDGEBLUE_DISK_STEPS"] == "all"

  /// Which steps fail, one after the other, and with what: a full disk, or now and then another error.
  /// - Parameter usual: every which step, unless all of them do.
  static func plan(every usual: Int) -> AnySequence<(step: Int, number: Int32)> {
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

  var disk: Disk {
    Disk { [state] _, _ in
      state.withLock { state in
        state.steps += 1
        return state.failing?.contains(state.steps) == true ? state.number : nil
      }
    }
  }

  /// How many steps there were.
  var steps: Int { state.withLock { $0.steps } }

  func fail(_ range: ClosedRange<Int>?, with number: Int32) {
    state.withLock {
      $0.failing = range
      $0.number = number
    }
  }
}
