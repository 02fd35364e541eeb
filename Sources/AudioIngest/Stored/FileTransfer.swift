/// Fetches the one file of an older device, to its end, and has it deleted once all of it is on disk.
///
/// The blocks have no numbers. One that is lost on the way shows when their count is wrong at the end, or when the block
/// before the next one is not the one that is here.
struct FileTransfer: StoreTransfer {
  private enum State: Hashable {
    case idle
    case sizing
    case reading(start: UInt64)
    /// All has come; the device is asked whether there is more by now.
    case checking
    case deleting
    case ended
  }

  /// What a device is told, with the number of the file.
  private enum Command {
    static let delete: [UInt8] = [1, 1]
    static let stop: [UInt8] = [3, 1]
    static let heartbeat: [UInt8] = [50, 1]
    static func read(_ offset: UInt32) -> [UInt8] { [0, 1] + offset.bigEndianBytes }
  }

  /// What a device says in one byte.
  private enum Answer {
    static let ended: UInt8 = 100
    static let deleted: UInt8 = 200
  }

  /// Blocks that are put on disk at once: about a second of radio.
  static let piece = 10
  /// After so many blocks the device is told that somebody still listens.
  private static let heartbeatInterval = 50

  private(set) var counters = StoredCounters()
  private var state = State.idle
  private var position: StoredPosition?
  /// How many blocks the file has.
  private var total: UInt64 = 0
  /// How many came of this reading.
  private var received: UInt64 = 0
  private var hasCheck = false
  private var bytes: [UInt8] = []
  /// The pieces that are being put on disk: how many blocks, and the last of them.
  private var keeping: [(blocks: Int, tail: UInt64)] = []
  private var isAtEnd = false

  init(from position: StoredPosition?) { self.position = position }

  var remaining: Int? {
    state == .idle || state == .sizing ? nil : Int(total - min(position?.next ?? 0, total))
  }
  /// How many bytes wait to be put on disk, for tests of the bound.
  var pendingBytes: Int { bytes.count }

  mutating func begin() -> [TransferAction] {
    state = .sizing
    return [.readSize]
  }

  /// The length of the file and the offset of the last stop, four bytes each, the least significant first.
  mutating func take(size value: [UInt8]) -> [TransferAction] {
    guard value.count == 8 else { return end(.unknown(value.count)) }
    let size = value[..<4].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    // Firmware writes whole blocks; what is left over it has not ended.
    let blocks = size / UInt64(length)
    switch state {
    case .sizing:
      total = blocks
      return goOn()
    case .checking where blocks == total:
      state = .deleting
      return [.write(Command.delete)]
    case .checking where blocks > total:
      total = blocks
      return TransferAction.filled(to: total).then(read(position?.next ?? 0))
    case .checking:
      total = blocks
      return beginAnew()
    default: return []
    }
  }

  mutating func take(_ value: [UInt8]) -> [TransferAction] {
    counters.bytes += value.count
    switch (state, value.count) {
    case (.reading, 1) where value[0] == Answer.ended: return ended()
    case (.deleting, 1) where value[0] == Answer.deleted:
      (position, total) = (StoredPosition(next: 0), 0)
      return TransferAction.cleared.then(end(.complete))
    case (.reading, 1) where value[0] != 0, (.deleting, 1) where value[0] != 0: return end(.refused(value[0]))
    case (.reading(let start), length) where start + received < total: return take(block: value)
    // The answer to a heartbeat, or to a command.
    case (_, 1) where value[0] == 0: break
    case (.ended, _): break
    default: counters.malformed += 1
    }
    return []
  }

  mutating func kept() -> [TransferAction] {
    guard case .reading = state, let before = position, !keeping.isEmpty else { return [] }
    let (blocks, tail) = keeping.removeFirst()
    counters.records += blocks
    position = StoredPosition(next: before.next + UInt64(blocks), tail: tail)
    return isAtEnd && keeping.isEmpty ? check() : []
  }

  mutating func timedOut() -> [TransferAction] {
    guard case .reading = state else { return end(.unanswered) }
    return TransferAction.write(Command.stop).then(end(.unanswered))
  }

  // MARK: The steps

  private var length: Int { StoredFormat.file.recordLength }

  /// Finds in the file the place where it was left.
  private mutating func goOn() -> [TransferAction] {
    guard let position, position.next <= total, position.next == 0 || position.tail != nil else { return beginAnew() }
    guard total > 0 else { return end(.complete) }
    return TransferAction.filled(to: total).then(read(position.next))
  }

  private mutating func beginAnew() -> [TransferAction] {
    if position == nil, total == 0 { return end(.complete) }
    if let position, position.next > 0 { counters.replaced += 1 }
    position = StoredPosition(next: 0)
    let next = total == 0 ? end(.complete) : TransferAction.filled(to: total).then(read(0))
    return TransferAction.restart(at: 0, ring: nil).then(next)
  }

  /// Reads on; with the block before, if there is one, to know the file again.
  private mutating func read(_ next: UInt64) -> [TransferAction] {
    hasCheck = next > 0
    let start = hasCheck ? next - 1 : 0
    state = .reading(start: start)
    (received, isAtEnd, keeping) = (0, false, [])
    bytes.removeAll(keepingCapacity: true)
    return [.write(Command.read(UInt32(clamping: start * UInt64(length))))]
  }

  private mutating func take(block: [UInt8]) -> [TransferAction] {
    received += 1
    if hasCheck, received == 1 {
      guard block.fnv1a == position?.tail else {
        // Blocks of this reading are still on their way: it begins anew the next time.
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
      // Nobody knows which block it is.
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
