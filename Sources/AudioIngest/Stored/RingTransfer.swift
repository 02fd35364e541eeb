/// A state machine that fetches a ring in groups of records: read, write to the disk, and only then free.
struct RingTransfer: StoreTransfer {
  private enum State: Hashable {
    case idle
    /// The contents of the ring were requested.
    case asking
    /// Records arrive; with a check the first of them is one that is on disk already.
    case reading(start: UInt64, wanted: Int, hasCheck: Bool)
    case keeping(next: UInt64)
    case freeing(next: UInt64)
    case ended
  }

  /// The number of records in a group: half a second to a second of transfer.
  static let piece = 64
  /// The number of attempts to read a group.
  static let attempts = 3

  private(set) var counters = StoredCounters()
  private var state = State.idle
  private var position: StoredPosition?
  private var info: RingMessage.Info?
  /// The number of records in the group, as the device has announced it.
  private var announced: Int?
  private var bytes: [UInt8] = []
  private var failures = 0

  init(from position: StoredPosition?) { self.position = position }

  var remaining: Int? { info.map { Int($0.write - max(min(position?.next ?? $0.read, $0.write), $0.read)) } }
  /// The number of bytes that wait for the rest of their group, for tests of the limit.
  var pendingBytes: Int { bytes.count }

  mutating func handle(_ event: TransferEvent) -> [TransferAction] {
    switch event {
    case .start:
      state = .asking
      return [.write(RingMessage.Command.info)]
    case .notification(let value): return receive(value)
    case .size: return []
    case .kept: return kept()
    case .timedOut:
      if case .keeping = state { return [] }
      return retry(.unanswered)
    }
  }

  private mutating func receive(_ value: [UInt8]) -> [TransferAction] {
    counters.bytes += value.count
    guard let message = RingMessage(value) else {
      counters.malformed += 1
      return []
    }
    switch (state, message) {
    case (.asking, .info(let info)): return resume(info)
    case (.asking, .acknowledged(let status)) where status != 0: return end(.refused(status))
    case (.reading(let start, let wanted, _), .begins(let first, let count)) where first == start && count <= wanted:
      announced = count
      bytes.removeAll(keepingCapacity: true)
    case (.reading, .data(let more)) where bytes.count + more.count <= (announced ?? 0) * length: bytes += more
    case (.reading(let start, _, let hasCheck), .done(let status, let next)):
      guard status == 0, let announced, announced > 0, bytes.count == announced * length,
        next == start + UInt64(announced)
      else { return retry() }
      return finish(next, hasCheck)
    case (.reading, .acknowledged(let status)) where status != 0: return retry(.refused(status))
    case (.freeing(let next), .acknowledged(0)): return freed(next)
    case (.freeing, .acknowledged(let status)): return retry(.refused(status))
    case (_, .acknowledged(0)), (_, .liveMark), (.ended, _): break
    default: counters.malformed += 1
    }
    return []
  }

  private mutating func kept() -> [TransferAction] {
    guard case .keeping(let next) = state else { return [] }
    counters.records += bytes.count / length
    position = StoredPosition(next: next, ring: info?.ring, tail: bytes.suffix(length).fnv1a)
    bytes.removeAll(keepingCapacity: true)
    failures = 0
    return free(next)
  }

  // MARK: The steps

  private var length: Int { StoredFormat.ring.recordLength }

  /// Continues at the position of the last transfer, if the ring is the same.
  private mutating func resume(_ info: RingMessage.Info) -> [TransferAction] {
    guard info.recordLength == length else { return end(.unknown(info.recordLength)) }
    self.info = info
    if let position, position.ring == nil || info.ring == nil || position.ring == info.ring,
      info.read...info.write ~= position.next
    {
      // Everything before it is freed: the next record is new, in any ring.
      if position.next == info.read { return info.read == info.write ? end(.complete) : read(info.read) }
      // The device still has records that are on disk, if the ring is the same: the last record shows it.
      if position.tail != nil { return read(position.next - 1, hasCheck: true) }
    }
    return startOver(info)
  }

  /// Starts at the ring's first record.
  private mutating func startOver(_ info: RingMessage.Info) -> [TransferAction] {
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
      guard bytes.prefix(length).fnv1a == position?.tail else { return startOver(info) }
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

  /// Continues up to the end that the ring had at the start: a device that stores live audio, too, would never end.
  private mutating func freed(_ next: UInt64) -> [TransferAction] {
    guard let info, next < info.write else { return end(.complete) }
    return TransferAction.rest.then(read(next))
  }

  /// Reads the contents of the ring again, up to the limit of attempts.
  private mutating func retry(_ reason: TransferEnd = .unreliable) -> [TransferAction] {
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
