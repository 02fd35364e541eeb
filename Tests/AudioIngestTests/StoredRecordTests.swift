import AudioIngestTesting
import DeterministicTesting
import SystemTesting
import Testing

@testable import AudioIngest

@Suite("Records of a device's store", .computing) struct StoredRecordTests {
  @Test("A block consists of frames and padding") func aBlockHasFramesAndPadding() {
    let block: [UInt8] = [3, 1, 2, 3, 0, 0, 1, 9] + [UInt8](repeating: 0, count: 432)
    #expect(StoredRecord(block[...], .file).frames.map(Array.init) == [[1, 2, 3], [9]])
    #expect(StoredRecord(block[...], .file).stamp == nil)
    #expect(StoredRecord([UInt8](repeating: 0, count: 440)[...], .file).frames.isEmpty)
  }

  /// A length that firmware left at the end belongs to a frame of the next block: also one that would just fit.
  @Test("A stale length at the end of a block is not a frame", arguments: [(38, 36), (38, 37), (38, 39)])
  func aStaleLengthIsNoFrame(_ room: Int, _ stale: Int) {
    // One frame up to `room` bytes before the end, then a length and what was there before.
    let first = 440 - room - 1
    var block = [UInt8(min(first, 255))] + [UInt8](repeating: 7, count: min(first, 255))
    let second = 440 - room - block.count - 1
    block += [UInt8(second)] + [UInt8](repeating: 8, count: second)
    #expect(block.count == 440 - room)
    block += [UInt8(stale)] + [UInt8](repeating: 0, count: room - 1)
    let frames = StoredRecord(block[...], .file).frames
    #expect(frames.count == (stale < room - 1 ? 3 : 2))
    #expect(frames.prefix(2).map(\.count) == [255, second])
  }

  @Test("A record of a ring carries a time") func aRecordOfARingHasATime() {
    let block = StoredSound.block(4)
    #expect(StoredRecord((UInt32(1_795_308_300).bigEndianBytes + block)[...], .ring).stamp == .unix(1_795_308_300))
    #expect(StoredRecord((UInt32(0x8000_0011).bigEndianBytes + block)[...], .ring).stamp == .uptime(17))
    #expect(StoredRecord((UInt32(17).bigEndianBytes + block)[...], .ring).stamp == .uptime(17))
    #expect(StoredRecord((UInt32(0).bigEndianBytes + block)[...], .ring).frames.map(\.count) == [160, 160])
  }

  @Test("Messages of a ring are parsed, and malformed ones rejected") func messagesOfARing() throws {
    let info: [UInt8] = [2] + UInt64(5).bigEndianBytes + UInt64(9).bigEndianBytes + [0, 0, 1, 0]
    let short = info + UInt64(3).bigEndianBytes + UInt16(444).bigEndianBytes
    #expect(RingMessage(short) == .info(.init(read: 5, write: 9, recordLength: 444, ring: nil)))
    #expect(
      RingMessage(short + [7, 1] + UInt64(77).bigEndianBytes)
        == .info(.init(read: 5, write: 9, recordLength: 444, ring: 77)))
    #expect(RingMessage([1, 9]) == .acknowledged(status: 9))
    #expect(RingMessage([3, 4, 5]) == .data([4, 5]))
    #expect(RingMessage([4, 0] + UInt64(8).bigEndianBytes + [1, 2, 3]) == .done(status: 0, next: 8))
    #expect(RingMessage([5] + UInt64(8).bigEndianBytes + [0, 0, 0, 3]) == .begins(start: 8, count: 3))
    #expect(RingMessage([6, 1]) == .liveMark)
    let rest = Array(short.dropFirst(17))
    let backwards: [UInt8] = [2] + UInt64(9).bigEndianBytes + UInt64(5).bigEndianBytes + rest
    let endless: [UInt8] = [2] + UInt64(0).bigEndianBytes + UInt64.max.bigEndianBytes + rest
    for value: [UInt8] in [
      [], [1], [3], [0, 1], [7], Array(short.dropLast()), [4, 0, 1], [5, 1], backwards, endless,
    ] {
      #expect(RingMessage(value) == nil, "\(value)")
    }
  }

  @Test("A transfer accepts any bytes within its limits") func aStoreMaySayAnything() {
    let inputs = Fuzz.inputs(usual: 20_000)
    var random = SeededGenerator(seed: 21)
    var taken = 0
    while taken < inputs {
      let known = Bool.random(using: &random) ? StoredPosition(next: random.next() % 300, ring: 1, tail: 4) : nil
      var ring = RingTransfer(from: known)
      var file = FileTransfer(from: known)
      var forRing = ring.handle(.start)
      var forFile = file.handle(.start)
      for _ in 0..<500 {
        let value = Self.value(&random)
        forRing = ring.handle(.notification(value))
        forFile = file.handle(.notification(value))
        taken += 1
        if let action = forFile.last, case .readSize = action { forFile += file.handle(.size(Self.size(&random))) }
        if random.next() & 0xff == 0 { forRing += ring.handle(.timedOut) }
        if forRing.contains(where: \.isKeep) { forRing += ring.handle(.kept) }
        if forFile.contains(where: \.isKeep) { forFile += file.handle(.kept) }
        let limit = RingTransfer.piece * 444
        // `#expect` itself takes longer than all the rest.
        guard ring.pendingBytes <= limit, file.pendingBytes <= limit, forRing.count < 16, forFile.count < 16 else {
          Issue.record("after \(taken) inputs: \(ring.pendingBytes), \(file.pendingBytes), \(forRing), \(forFile)")
          return
        }
        let record = StoredRecord(value[...], random.next() & 1 == 0 ? .ring : .file)
        guard record.frames.allSatisfy({ 1...255 ~= $0.count }), record.frames.count <= value.count / 2 else {
          Issue.record("after \(taken) inputs: frames \(record.frames)")
          return
        }
      }
    }
  }

  /// Mostly what fits to what was asked, so that every state is come to.
  private static func value(_ random: inout SeededGenerator) -> [UInt8] {
    let dice = random.next()
    let number = UInt64(dice >> 8 & 0xff)
    switch dice & 0x1f {
    case 0...3: return [1, dice >> 40 & 7 == 0 ? UInt8(truncatingIfNeeded: dice >> 16) : 0]
    case 4...7:
      let known = number.bigEndianBytes + (number + (dice >> 16 & 0xff)).bigEndianBytes + [0, 0, 0, 1]
      let length: UInt16 = dice >> 60 == 0 ? 99 : 444
      return [2] + known + UInt64(0).bigEndianBytes + length.bigEndianBytes
    case 8...11: return [5] + number.bigEndianBytes + UInt32(dice >> 32 & 0x3f).bigEndianBytes
    case 12...14: return [4, 0] + number.bigEndianBytes
    case 15: return [UInt8(truncatingIfNeeded: dice >> 32)]
    case 16...19: return [100]
    case 20: return [200]
    case 21: return [0]
    case 22: return (0..<Int(dice >> 40 & 0x1ff)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    case 23...27: return (0..<440).map { UInt8(truncatingIfNeeded: $0 &* Int(dice >> 40)) }
    default: return [3] + [UInt8](repeating: UInt8(truncatingIfNeeded: dice >> 32), count: Int(dice >> 40 & 0x1ff))
    }
  }

  private static func size(_ random: inout SeededGenerator) -> [UInt8] {
    let dice = random.next()
    if dice & 0xf == 0 { return [UInt8](repeating: 1, count: Int(dice >> 8 & 0x1f)) }
    return Array(UInt32(dice >> 8 & 0x3fff).bigEndianBytes.reversed()) + [0, 0, 0, 0]
  }
}

extension TransferAction {
  var isKeep: Bool { if case .keep = self { true } else { false } }
}
