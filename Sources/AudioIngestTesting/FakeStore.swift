package import AudioIngest

/// A device's store of audio, as firmware keeps it: commands go in, notifications come out.
package protocol FakeStore: Sendable {
  var format: StoredFormat { get }
  /// The value of the status characteristic.
  var status: [UInt8] { get }
  /// The number up to which everything was freed.
  var freed: Int { get }
  mutating func take(_ command: [UInt8]) -> [[UInt8]]
}

/// A ring buffer: records have numbers, and those before `read` are freed.
package struct FakeRing: FakeStore {
  /// All records since the first.
  package var records: [[UInt8]] = []
  package var read = 0
  package var ring: UInt64?
  /// The number of bytes of records in a notification.
  package var slice = 243
  /// The status with which every command is refused.
  package var refusal: UInt8?

  package init(records: [[UInt8]] = [], read: Int = 0, ring: UInt64? = nil, refusal: UInt8? = nil) {
    self.records = records
    self.read = read
    self.ring = ring
    self.refusal = refusal
  }

  package var format: StoredFormat { .ring }
  package var freed: Int { read }
  package var status: [UInt8] {
    [(records.count - read) * 444, records.count - read, 1 << 20, 1].flatMap { UInt32($0).bigEndianBytes.reversed() }
  }

  package mutating func take(_ command: [UInt8]) -> [[UInt8]] {
    if let refusal { return [[1, refusal]] }
    let body = command.dropFirst()
    switch command.first {
    case 0x10?: return [info]
    case 0x11? where command.count == 13:
      let start = Int(body.bigEndian(0, 8))
      let count = Int(body.bigEndian(8, 4))
      guard read...records.count ~= start else { return [[1, 10]] }
      let end = min(start + count, records.count)
      let bytes = Array(records[start..<end].joined())
      let slices = stride(from: 0, to: bytes.count, by: slice).map { [3] + bytes[$0..<min($0 + slice, bytes.count)] }
      let begin = [5] + UInt64(start).bigEndianBytes + UInt32(end - start).bigEndianBytes
      return [begin] + slices + [[4, 0] + UInt64(end).bigEndianBytes]
    case 0x12? where command.count == 9:
      let next = Int(body.bigEndian(0, 8))
      guard next <= records.count else { return [[1, 10]] }
      read = max(read, next)
      return [[1, 0]]
    case 0x03?: return [[1, 0]]
    default: return [[1, 6]]
    }
  }

  private var info: [UInt8] {
    let known = [2] + UInt64(read).bigEndianBytes + UInt64(records.count).bigEndianBytes
    let rest = UInt32(1 << 20).bigEndianBytes + UInt64(0).bigEndianBytes + UInt16(444).bigEndianBytes
    return known + rest + (ring.map { [7, 1] + $0.bigEndianBytes } ?? [])
  }
}

/// A store that is one file of blocks.
package struct FakeFile: FakeStore {
  package var blocks: [[UInt8]] = []
  package var deletions = 0

  package init(blocks: [[UInt8]] = [], deletions: Int = 0) {
    self.blocks = blocks
    self.deletions = deletions
  }

  package var format: StoredFormat { .file }
  package var freed: Int { deletions }
  package var status: [UInt8] { Array(UInt32(blocks.count * 440).bigEndianBytes.reversed()) + [0, 0, 0, 0] }

  package mutating func take(_ command: [UInt8]) -> [[UInt8]] {
    guard command.count == 2 || command.count == 6, command[1] == 1 else { return [[6]] }
    switch command[0] {
    case 0 where command.count == 6:
      let start = Int(command[...].bigEndian(2, 4)) / 440
      guard start < blocks.count else { return [[blocks.isEmpty ? 4 : 3]] }
      return [[0]] + blocks[start...] + [[100]]
    case 1:
      blocks = []
      deletions += 1
      return [[0], [200]]
    case 3, 50: return [[0]]
    default: return [[6]]
    }
  }
}

/// Fetches a complete store, as over a radio without faults.
package func fetch(_ store: inout some FakeStore, by keeper: StoredKeeper) async throws -> TransferEnd {
  let position = try await keeper.open(Recording.device, .pcm8k, store.format, linkedAtMs: Recording.start + 60_000)
  var transfer = store.format.transfer(from: position)
  var actions = transfer.handle(.start)[...]
  while true {
    switch actions.popFirst() {
    case .write(let command)?:
      for value in store.take(command) { actions += transfer.handle(.notification(value)) }
    case .readSize?: actions += transfer.handle(.size(store.status))
    case .keep(let records)?:
      try await keeper.keep(records)
      actions += transfer.handle(.kept)
    case .restart(let next, let ring)?: try await keeper.restart(at: next, ring: ring)
    case .filled(let next)?: try await keeper.setFilled(to: next, atMs: nil)
    case .discard(let next)?: try await keeper.discard(from: next)
    case .cleared?: try await keeper.clear()
    case .rest?: break
    case .end(let end)?:
      if end == .complete { try await keeper.seal() }
      try await keeper.close()
      return end
    case nil: actions += transfer.handle(.timedOut)
    }
  }
}

/// Blocks of stored PCM at 8 kHz, in which sample `i` is `i`: two frames of 80 samples each, 20 ms.
package enum StoredSound {
  package static let samples = 160

  /// Returns a block; the first ones are made once, because tests need thousands.
  package static func block(_ index: Int) -> [UInt8] { made.indices.contains(index) ? made[index] : make(index) }

  private static let made = (0..<500).map(make)

  private static func make(_ index: Int) -> [UInt8] {
    let frames = (0..<2).map { frame in
      let start = index * samples + frame * 80
      return Recording.bytes((start..<(start + 80)).map { Int16(truncatingIfNeeded: $0) })
    }
    let bytes = frames.flatMap { [UInt8($0.count)] + $0 }
    return bytes + [UInt8](repeating: 0, count: 440 - bytes.count)
  }

  /// Returns a record of a ring.
  /// - Parameter startMs: The time at which the first sample of block 0 was captured.
  package static func record(_ index: Int, startMs: Int64 = Recording.start) -> [UInt8] {
    UInt32((startMs + Int64(index + 1) * 20) / 1000).bigEndianBytes + block(index)
  }

  package static func samples(_ blocks: Range<Int>) -> [Int16] {
    (blocks.lowerBound * samples..<blocks.upperBound * samples).map { Int16(truncatingIfNeeded: $0) }
  }
}
