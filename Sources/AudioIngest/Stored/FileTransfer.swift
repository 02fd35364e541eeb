/// A state machine that fetches the one file of an older device, and deletes it there once all of it is on disk.
///
/// The blocks have no numbers. A lost block shows when the count is wrong at the end, or when the block before the next
/// one is not the last one on disk.
struct FileTransfer: StoreTransfer {
  private enum State: Hashable {
    case idle
    case sizing
    case reading(start: UInt64)
    /// All blocks have arrived, and the size is read again.
    case checking
    case deleting
    case ended
  }

  /// The commands to a device, with the number of the file.
  private enum Command {
    static let delete: [UInt8] = [1, 1]
    static let stop: [UInt8] = [3, 1]
    static let heartbeat: [UInt8] = [50, 1]
    static func read(_ offset: UInt32) -> [UInt8] { [0, 1] + offset.bigEndianBytes }
  }

  /// The responses of a device, of one byte.
  private enum Response {
    static let ended: UInt8 = 100
    static let deleted: UInt8 = 200
  }

  /// The number of blocks written to the disk at once: about a second of transfer.
  static let piece = 10
  /// The number of blocks after which the device needs a heartbeat.
  private static let heartbeatInterval = 50

  private(set) var counters = StoredCounters()
  private var state = State.idle
  private var position: StoredPosition?
  /// The number of blocks in the file.
  private var total: UInt64 = 0
  /// The number of blocks received since the last read command.
  private var received: UInt64 = 0
  private var hasCheck = false
  private var bytes: [UInt8] = []
  /// The groups of blocks being written to the disk: the number of blocks, and the hash of the last one.
  private var keeping: [(blocks: Int, tail: UInt64)] = []
  private var isAtEnd = false

  init(from position: StoredPosition?) { self.position = position }

  var remaining: Int? {
    state == .idle || state == .sizing ? nil : Int(total - min(position?.next ?? 0, total))
  }
  /// The number of bytes that wait to be written, for tests of the limit.
  var pendingBytes: Int { bytes.count }

  mutating func handle(_ event: TransferEvent) -> [TransferAction] {
    switch event {
    case .start:
      state = .sizing
      return [.readSize]
    case .notification(let value): return receive(value)
    case .size(let value): return receive(size: value)
    case .kept: return kept()
    case .timedOut:
      guard case .reading = state else { return end(.unanswered) }
      return TransferAction.write(Command.stop).then(end(.unanswered))
    }
  }

  /// Accepts the length of the file and the offset of the last stop, four bytes each, little-endian.
  private mutating func receive(size value: [UInt8]) -> [TransferAction] {
    guard value.count == 8 else { return end(.unknown(value.count)) }
    let size = value[..<4].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    // The firmware writes complete blocks; the rest is not complete yet.
    let blocks = size / UInt64(length)
    switch state {
    case .sizing:
      total = blocks
      return resume()
    case .checking where blocks == total:
      state = .deleting
      return [.write(Command.delete)]
    case .checking where blocks > total:
      total = blocks
      return TransferAction.filled(to: total).then(read(position?.next ?? 0))
    case .checking:
      total = blocks
      return startOver()
    default: return []
    }
  }

  private mutating func receive(_ value: [UInt8]) -> [TransferAction] {
    counters.bytes += value.count
    switch (state, value.count) {
    case (.reading, 1) where value[0] == Response.ended: return ended()
    case (.deleting, 1) where value[0] == Response.deleted:
      position = StoredPosition(next: 0)
      total = 0
      return TransferAction.cleared.then(end(.complete))
    case (.reading, 1) where value[0] != 0, (.deleting, 1) where value[0] != 0: return end(.refused(value[0]))
    case (.reading(let start), length) where start + received < total: return receive(block: value)
    // The response to a heartbeat, or to a command.
    case (_, 1) where value[0] == 0: break
    case (.ended, _): break
    default: counters.malformed += 1
    }
    return []
  }

  private mutating func kept() -> [TransferAction] {
    guard case .reading = state, let before = position, !keeping.isEmpty else { return [] }
    let (blocks, tail) = keeping.removeFirst()
    counters.records += blocks
    position = StoredPosition(next: before.next + UInt64(blocks), tail: tail)
    return isAtEnd && keeping.isEmpty ? check() : []
  }

  // MARK: The steps

  private var length: Int { StoredFormat.file.recordLength }

  /// Continues at the position of the last transfer, if the file is the same.
  private mutating func resume() -> [TransferAction] {
    guard let position, position.next <= total, position.next == 0 || position.tail != nil else { return startOver() }
    guard total > 0 else { return end(.complete) }
    return TransferAction.filled(to: total).then(read(position.next))
  }

  /// Starts at the file's first block.
  private mutating func startOver() -> [TransferAction] {
    if position == nil, total == 0 { return end(.complete) }
    if let position, position.next > 0 { counters.replaced += 1 }
    position = StoredPosition(next: 0)
    let next = total == 0 ? end(.complete) : TransferAction.filled(to: total).then(read(0))
    return TransferAction.restart(at: 0, ring: nil).then(next)
  }

  /// Reads from a block on, preceded by the block before, if there is one, to recognize the file.
  private mutating func read(_ next: UInt64) -> [TransferAction] {
    hasCheck = next > 0
    let start = hasCheck ? next - 1 : 0
    state = .reading(start: start)
    received = 0
    isAtEnd = false
    keeping = []
    bytes.removeAll(keepingCapacity: true)
    return [.write(Command.read(UInt32(clamping: start * UInt64(length))))]
  }

  private mutating func receive(block: [UInt8]) -> [TransferAction] {
    received += 1
    if hasCheck, received == 1 {
      guard block.fnv1a == position?.tail else {
        // Blocks of this read are still in transit: the next transfer starts over.
        counters.replaced += 1
        return TransferAction.write(Command.stop).then(TransferAction.restart(at: 0, ring: nil).then(end(.unreliable)))
      }
      return []
    }
    bytes += block
    let keeps = bytes.count >= Self.piece * length ? keep() : []
    let beats = received.isMultiple(of: UInt64(Self.heartbeatInterval))
    return beats ? TransferAction.write(Command.heartbeat).then(keeps) : keeps
  }

  private mutating func ended() -> [TransferAction] {
    guard case .reading(let start) = state else { return [] }
    guard start + received == total else {
      // The missing block is unknown.
      counters.repeated += 1
      let from = hasCheck ? start + 1 : start
      return TransferAction.discard(from: from).then(end(.unreliable))
    }
    isAtEnd = true
    if !bytes.isEmpty { return keep() }
    return keeping.isEmpty ? check() : []
  }

  private mutating func keep() -> [TransferAction] {
    keeping.append((bytes.count / length, bytes.suffix(length).fnv1a))
    defer { bytes.removeAll(keepingCapacity: true) }
    return [.keep(bytes)]
  }

  private mutating func check() -> [TransferAction] {
    state = .checking
    return [.readSize]
  }

  private mutating func end(_ reason: TransferEnd) -> [TransferAction] {
    state = .ended
    bytes.removeAll()
    return [.end(reason)]
  }
}
