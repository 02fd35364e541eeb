import AudioIngestTesting
import DeterministicTesting
import Foundation
import SystemTesting
import Testing

@testable import AudioIngest

@Suite("Properties of the frame reassembler", .computing) struct FrameReassemblerPropertyTests {
  /// Whatever a channel loses, doubles and reorders: each frame that arrived whole comes out once and in order, and all
  /// others are counted as lost where they are missing.
  @Test(
    "Each complete frame is delivered once and in order, and every other one is counted as lost",
    arguments: FakeSender.Numbering.allCases)
  func nothingIsMadeUpAndNothingSilentlyLost(_ numbering: FakeSender.Numbering) {
    for seed in 0..<UInt64(Sanitizer.rounds(120)) {
      var random = SeededGenerator(seed: seed)
      let pieces = Int.random(in: 1...3, using: &random)
      var sender = FakeSender(
        numbering: numbering, fragment: 110, number: UInt16.random(in: 0...(.max), using: &random))
      // Pieces with one number have no order among themselves, so only whole frames may overtake each other.
      let mayReorder = numbering == .perNotification || pieces == 1
      let sent = (0..<300).map { numberedFrame($0, length: 110 * pieces - 40) }.map { sender.notifications($0) }
      var channel = Channel(random: random, mayReorder: mayReorder)
      let (received, lost) = channel.carry(sent)

      var reassembler = FrameReassembler(.omi)
      // Now and then nothing comes for a while; what overtakes another one does so at once.
      let events = reassembler.events(received) { $0.packets == 0 && Int.random(in: 0..<9, using: &random) == 0 }
      var expected = (0..<300).filter { !lost.contains($0) }
      var position = 0
      for event in events {
        switch event {
        case .frame(let frame):
          guard frameIndex(frame) == position, expected.first == position else {
            Issue.record("seed \(seed): frame \(frameIndex(frame)) at \(position)")
            return
          }
          expected.removeFirst()
          position += 1
        case .lost(let count): position += count
        case .restarted: Issue.record("seed \(seed): a new beginning")
        }
      }
      #expect(position == 300, "seed \(seed)")
      #expect(expected.isEmpty, "seed \(seed)")
      #expect(reassembler.counters.frames + reassembler.counters.lostFrames == 300, "seed \(seed)")
      #expect(reassembler.counters.duplicates == channel.duplicates, "seed \(seed)")
    }
  }

  @Test("A reassembler accepts any bytes within its limits") func aReassemblerTakesAnything() throws {
    let inputs = Fuzz.inputs(usual: 30_000)
    var random = SeededGenerator(seed: 5)
    let framings = [
      PacketFraming.omi, .bare, try PacketFraming(header: 2, footer: 1, number: .init(offset: 1, width: 1)),
      try PacketFraming(header: 2, footer: 5, number: .init(offset: 0, width: 2), frameLength: 30),
      try PacketFraming(header: 1, fragmentIndex: 0),
    ]
    var taken = 0
    while taken < inputs {
      var reassembler = FrameReassembler(framings.randomElement(using: &random)!)
      if Bool.random(using: &random) { reassembler.frameDuration = .milliseconds(20) }
      var events: [FrameEvent] = []
      var number: UInt16 = 0
      for step in 0..<1000 {
        events.removeAll(keepingCapacity: true)
        let before = reassembler.counters.lostFrames
        reassembler.receive(Self.input(&number, &random), at: .milliseconds(step), into: &events)
        if step.isMultiple(of: 97) { reassembler.flush(at: .milliseconds(step), into: &events) }
        if step.isMultiple(of: 41) { reassembler.pause(at: .milliseconds(step), into: &events) }
        if step.isMultiple(of: 331) { reassembler.restart() }
        // `#expect` itself takes longer than all the rest.
        guard reassembler.pending.bytes <= PacketFraming.longestFrame,
          reassembler.pending.packets < PacketSequencer.patience,
          events.count <= PacketFraming.longestNotification + 64,
          reassembler.counters.lostFrames >= before
        else {
          Issue.record("after \(taken + step) inputs: \(reassembler.pending), \(events.count) events")
          return
        }
      }
      taken += 1000
    }
  }

  /// Numbers that mostly go on, jump now and then, and indices and lengths of all kinds.
  private static func input(_ number: inout UInt16, _ random: inout SeededGenerator) -> [UInt8] {
    let dice = random.next()
    switch dice & 0xf {
    case 0: number = UInt16(truncatingIfNeeded: dice >> 8)
    case 1: number &-= UInt16(truncatingIfNeeded: dice >> 8 & 0x7f)
    case 2: number &+= UInt16(truncatingIfNeeded: dice >> 8 & 0x1f)
    case 3: break
    default: number &+= 1
    }
    let length = dice >> 24 & 0xff < 2 ? Int(dice >> 32 & 0x1fff) : Int(dice >> 32 & 0x3f)
    let index = dice >> 50 & 3 == 0 ? UInt8(truncatingIfNeeded: dice >> 52) : UInt8(dice >> 52 & 1)
    let header = [UInt8(truncatingIfNeeded: number), UInt8(number >> 8), index]
    return Array((header + [UInt8](repeating: UInt8(truncatingIfNeeded: dice >> 40), count: length)).prefix(length))
  }
}

/// What happens to notifications on the way. The first and the last frame arrive: before and behind them nothing shows.
private struct Channel {
  var random: SeededGenerator
  let mayReorder: Bool
  var duplicates = 0

  init(random: SeededGenerator, mayReorder: Bool) {
    self.random = random
    self.mayReorder = mayReorder
  }

  /// - Returns: what arrives, and the frames of which a piece is missing.
  mutating func carry(_ frames: [[[UInt8]]]) -> ([[UInt8]], Set<Int>) {
    var received: [[UInt8]] = []
    var lost: Set<Int> = []
    let rate = Int.random(in: 0...10, using: &random)
    var burst = 0
    for (index, pieces) in frames.enumerated() {
      for piece in pieces {
        if burst == 0, Int.random(in: 0..<100, using: &random) < rate { burst = Int.random(in: 1...12, using: &random) }
        burst = max(burst - 1, 0)
        guard burst == 0 || index < 16 || index >= frames.count - 16 else {
          lost.insert(index)
          continue
        }
        received.append(piece)
        // Pieces that share a number are only known as copies right behind each other.
        if Int.random(in: 0..<30, using: &random) == 0 {
          received.append(piece)
          duplicates += 1
        }
      }
    }
    if mayReorder { reorder(&received) }
    return (received, lost)
  }

  /// Neighbours change places; nothing moves by more than one.
  private mutating func reorder(_ values: inout [[UInt8]]) {
    var index = 1
    while index + 1 < values.count {
      if Int.random(in: 0..<20, using: &random) == 0 {
        values.swapAt(index, index + 1)
        index += 1
      }
      index += 1
    }
  }
}
