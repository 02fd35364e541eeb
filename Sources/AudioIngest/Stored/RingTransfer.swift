/// Fetches a ring, a piece at a time: read, put on disk, and only then let the device free it.
struct RingTransfer: StoreTransfer {
  private enum State: Hashable {
    case idle
    /// It was asked what there is.
    case asking
    /// Records come; with a check the first of them is one that is here already.
    case reading(start: UInt64, wanted: Int, hasCheck: Bool)
    case keeping(next: UInt64)
    case freeing(next: UInt64)
    case ended
  }

  /// Records in a piece: half a second to a second of radio.
  static let piece = 64
  /// How often a piece is asked for.
  static let attempts = 3

  private(set) var counters = StoredCounters()
  private var state = State.idle
  private var position: StoredPosition?
  private var info: RingMessage.Info?
  /// How many records the device says the piece has.
  private var announced: Int?
  private var bytes: [UInt8] = []
  private var failures = 0

  init(from position: StoredPosition?) { self.position = position }

  var remaining: Int? { info.map { Int($0.write - max(min(position?.next ?? $0.read, $0.write), $0.read)) } }
  /// How many bytes wait for the rest of their piece, for tests of the bound.
  var pendingBytes: Int { bytes.count }

  mutating func begin() -> [TransferAction] {
    state = .asking
    return [.write(RingMessage.Command.info)]
  }

  mutating func take(size value: [UInt8]) -> [TransferAction] { [] }

  mutating func take(_ value: [UInt8]) -> [TransferAction] {
    counters.bytes += value.count
    guard let message = RingMessage(value) else {
      counters.malformed += 1
      return []
    }
    switch (state, message) {
    case (.asking, .info(let info)): return goOn(info)
    case (.asking, .acknowledged(let status)) where status != 0: return end(.refused(status))
    case (.reading(let start, let wanted, _), .begins(let first, let count)) where first == start && count <= wanted:
      announced = count
      bytes.removeAll(keepingCapacity: true)
    case (.reading, .data(let more)) where bytes.count + more.count <= (announced ?? 0) * length: bytes += more
    case (.reading(let start, _, let hasCheck), .done(let status, let next)):
      guard status == 0, let announced, announced > 0, bytes.count == announced * length,
        next == start + UInt64(announced)
      else { return again() }
      return finish(next, hasCheck)
    case (.reading, .acknowledged(let status)) where status != 0: return again(.refused(status))
    case (.freeing(let next), .acknowledged(0)): return freed(next)
    case (.freeing, .acknowledged(let status)): return again(.refused(status))
    case (_, .acknowledged(0)), (_, .liveMark), (.ended, _): break
    default: counters.malformed += 1
    }
    return []
  }

  mutating func kept() -> [TransferAction] {
    guard case .keeping(let next) = state else { return [] }
    counters.records += bytes.count / length
    position = StoredPosition(next: next, ring: info?.ring, tail: bytes.suffix(length).fnv1a)
    bytes.removeAll(keepingCapacity: true)
    failures = 0
    return free(next)
  }

  mutating func timedOut() -> [TransferAction] {
    if case .keeping = state { return [] }
    return again(.unanswered)
  }

  // MARK: The steps

  private var length: Int { StoredFormat.ring.recordLength }

  /// Finds in what the device has the place where it was left.
  private mutating func goOn(_ info: RingMessage.Info) -> [TransferAction] {
    guard info.recordLength == length else { return end(.unknown(info.recordLength)) }
    self.info = info
    if let position, position.ring == nil || info.ring == nil || position.ring == info.ring,
      info.read...info.write ~= position.next
    {
      // What lies before it is freed: what comes next is new, whatever ring it is.
      if position.next == info.read { return info.read == info.write ? end(.complete) : read(info.read) }
      // The device still has what is here, if it is the same: its last record says.
      if position.tail != nil { return read(position.next - 1, hasCheck: true) }
    }
    return beginAnew(info)
  }

  private mutating func beginAnew(_ info: RingMessage.Info) -> [TransferAction] {
    if let position {
      let isSame = position.ring == info.ring
      if isSame, info.read > position.next { counters.overwritten += Int(info.read - position.next) }
      if !isSame || info.read <= position.next { counters.replaced += 1 }
    } else if info.read == info.write {
      return end(.complete)
    }
    position = StoredPosition(next: info.read, ring: info.ring)
    return TransferAction.restart(at: info.read, ring: info.ring)
      .then(info.read == info.write ? end(.complete) : read(info.read))
  }

  private mutating func read(_ start: UInt64, hasCheck: Bool = false) -> [TransferAction] {
    let wanted = Int(min(UInt64(Self.piece), (info?.write ?? start) - start))
    state = .reading(start: start, wanted: wanted, hasCheck: hasCheck)
    announced = nil
    bytes.removeAll(keepingCapacity: true)
    return [.write(RingMessage.Command.read(start, wanted))]
  }

  private mutating func finish(_ next: UInt64, _ hasCheck: Bool) -> [TransferAction] {
    if hasCheck, let info {
      guard bytes.prefix(length).fnv1a == position?.tail else { return beginAnew(info) }
      bytes.removeFirst(length)
      if bytes.isEmpty { return free(next) }
    }
    state = .keeping(next: next)
    return [.keep(bytes)]
  }

  private mutating func free(_ next: UInt64) -> [TransferAction] {
    state = .freeing(next: next)
    return [.write(RingMessage.Command.advance(next))]
  }

  /// What has come since the device was asked waits for the next time: a device that stores all it hears would never end.
  private mutating func freed(_ next: UInt64) -> [TransferAction] {
    guard let info, next < info.write else { return end(.complete) }
    return TransferAction.rest.then(read(next))
  }

  /// Asks anew, a few times.
  private mutating func again(_ reason: TransferEnd = .unreliable) -> [TransferAction] {
    if case .reading = state { counters.repeated += 1 }
    failures += 1
    guard failures < Self.attempts else { return end(reason) }
    state = .asking
    bytes.removeAll(keepingCapacity: true)
    return [.write(RingMessage.Command.stop), .write(RingMessage.Command.info)]
  }

  private mutating func end(_ reason: TransferEnd) -> [TransferAction] {
    state = .ended
    bytes.removeAll()
    return [.end(reason)]
  }
}
