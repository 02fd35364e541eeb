@testable import AudioIngest

/// What a device stores while nobody listens, as firmware keeps it: commands go in, notifications come out.
protocol FakeStore: Sendable {
  var format: StoredFormat { get }
  /// What its status characteristic holds.
  var status: [UInt8] { get }
  /// The number up to which everything was freed.
  var freed: Int { get }
  mutating func take(_ command: [UInt8]) -> [[UInt8]]
}

/// A ring: records have numbers, and those before `read` are gone.
struct FakeRing: FakeStore {
  /// All records there ever were.
  var records: [[UInt8]] = []
  var read = 0
  var ring: UInt64?
  /// Bytes of a record in a notification.
  var slice = 243
  /// Refuses what comes next with this.
  var refusal: UInt8?

  var format: StoredFormat { .ring }
  var freed: Int { read }
  var status: [UInt8] {
    [(records.count - read) * 444, records.count - read, 1 << 20, 1].flatMap { UInt32($0).bigEndianBytes.reversed() }
  }

  mutating func take(_ command: [UInt8]) -> [[UInt8]] {
    if let refusal { return [[1, refusal]] }
    let body = command.dropFirst()
    switch command.first {
    case 0x10?: return [info]
    case 0x11? where command.count == 13:
      let (start, count) = (Int(body.bigEndian(0, 8)), Int(body.bigEndian(8, 4)))
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

/// One file of blocks.
struct FakeFile: FakeStore {
  var blocks: [[UInt8]] = []
  var deletions = 0

  var format: StoredFormat { .file }
  var freed: Int { deletions }
  var status: [UInt8] { Array(UInt32(blocks.count * 440).bigEndianBytes.reversed()) + [0, 0, 0, 0] }

  mutating func take(_ command: [UInt8]) -> [[UInt8]] {
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

/// Fetches all of a store, as over a radio without faults.
func fetch(_ store: inout some FakeStore, by keeper: StoredKeeper) async throws -> TransferEnd {
  let position = try await keeper.open(Recording.device, .pcm8k, store.format, linkedAtMs: Recording.start + 60_000)
  var transfer = store.format.transfer(from: position)
  var actions = transfer.begin()[...]
  while true {
    switch actions.popFirst() {
    case .write(let command)?:
      for value in store.take(command) { actions += transfer.take(value) }
    case .readSize?: actions += transfer.take(size: store.status)
    case .keep(let records)?:
      try await keeper.keep(records)
      actions += transfer.kept()
    case .restart(let next, let ring)?: try await keeper.restart(at: next, ring: ring)
    case .filled(let next)?: try await keeper.note(filledTo: next, atMs: nil)
    case .discard(let next)?: try await keeper.discard(from: next)
    case .cleared?: try await keeper.clear()
    case .rest?: break
    case .end(let end)?:
      if end == .complete { try await keeper.seal() }
      try await keeper.close()
      return end
    case nil: actions += transfer.timedOut()
    }
  }
}

/// A block with frames of PCM of 8 kHz, 80 samples each: sample `i` is `i`. Each block has two, 20 ms.
enum StoredSound {
  static let samples = 160

  /// The usual ones are made once: tests need thousands.
  static func block(_ index: Int) -> [UInt8] { made.indices.contains(index) ? made[index] : make(index) }

  private static let made = (0..<500).map(make)

  private static func make(_ index: Int) -> [UInt8] {
    let frames = (0..<2).map { frame in
      let start = index * samples + frame * 80
      return Recording.bytes((start..<(start + 80)).map { Int16(truncatingIfNeeded: $0) })
    }
    let bytes = frames.flatMap { [UInt8($0.count)] + $0 }
    return bytes + [UInt8](repeating: 0, count: 440 - bytes.count)
  }

  /// - Parameter startMs: when the first sample of block 0 was captured.
  static func record(_ index: Int, startMs: Int64 = Recording.start) -> [UInt8] {
    UInt32((startMs + Int64(index + 1) * 20) / 1000).bigEndianBytes + block(index)
  }

  static func samples(_ blocks: Range<Int>) -> [Int16] {
    (blocks.lowerBound * samples..<blocks.upperBound * samples).map { Int16(truncatingIfNeeded: $0) }
  }
}
