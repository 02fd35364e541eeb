/// Puts packets in the order of their numbers, and says what is missing between them.
///
/// One that comes too early waits for those before it, until eight wait. So what was only overtaken is no loss, and
/// what is lost is known after eight packets, or when nothing more comes.
struct PacketSequencer {
  /// A packet in its place.
  struct Placed: Equatable {
    /// What lies between it and the one before.
    enum Gap: Equatable {
      case none
      /// So many numbers never came.
      case lost(Int)
      /// Numbers begin anew: nothing is known of what lies between.
      case reset
    }

    var gap = Gap.none
    var packet: AudioPacket
  }

  /// How many packets wait at most for one that is missing.
  static let patience = 8
  /// How many packets are remembered, to know a late one from a device that started anew.
  static let memory = 64

  private let hasNumbers: Bool
  /// All bits of a number.
  private let mask: UInt16
  private var last: UInt16?
  private var seen = RecentPackets(limit: memory)
  private var waiting: [AudioPacket] = []
  /// How many more packets may come in order while one waits far ahead of them.
  private var strayLimit = 0

  init(_ framing: PacketFraming) {
    hasNumbers = framing.number != nil
    mask = framing.number?.width == 1 ? 0xff : 0xffff
  }

  /// How many packets wait.
  var waitingCount: Int { waiting.count }

  /// Takes the next packet and appends what is in its place now.
  mutating func take(_ packet: AudioPacket, _ counters: inout StreamCounters, into placed: inout [Placed]) {
    guard hasNumbers, let last else {
      self.last = packet.number
      seen.append(packet)
      placed.append(Placed(packet: packet))
      return
    }
    let ahead = distance(from: last, to: packet.number)
    if ahead > Int(mask) / 2 {
      takeEarlier(packet, &counters, into: &placed)
    } else if ahead == 0 && seen.contains(packet) || waiting.contains(packet) {
      counters.duplicates += 1
    } else if ahead <= 1 {
      if !waiting.isEmpty { counters.reordered += 1 }
      place(packet, .none, into: &placed)
      placeThoseDue(&counters, into: &placed)
      dropStrays(&counters)
    } else {
      hold(packet, ahead)
      if waiting.count >= Self.patience { giveUpOnFirst(&counters, into: &placed) }
    }
  }

  /// Waits no longer for what is missing.
  mutating func flush(_ counters: inout StreamCounters, into placed: inout [Placed]) {
    while !waiting.isEmpty { giveUpOnFirst(&counters, into: &placed) }
  }

  /// Forgets everything: the next packet is the first.
  mutating func restart() {
    last = nil
    seen.removeAll()
    waiting.removeAll()
  }

  /// A packet with a number that was passed already.
  private mutating func takeEarlier(
    _ packet: AudioPacket, _ counters: inout StreamCounters, into placed: inout [Placed]
  ) {
    if seen.contains(packet) {
      counters.duplicates += 1
      return
    }
    // Between numbers that came, it was given up, and its place is filled.
    if let oldest = seen.oldest, let last, !seen.contains(number: packet.number),
      distance(from: oldest, to: packet.number) < distance(from: oldest, to: last)
    {
      counters.late += 1
      return
    }
    flush(&counters, into: &placed)
    seen.removeAll()
    counters.resets += 1
    place(packet, .reset, into: &placed)
  }

  private mutating func hold(_ packet: AudioPacket, _ ahead: Int) {
    if waiting.isEmpty { strayLimit = Self.patience }
    let base = last ?? 0
    // The pieces of a frame may share a number; then the index says their order.
    let place = waiting.firstIndex {
      let other = distance(from: base, to: $0.number)
      return other > ahead || other == ahead && $0.index > packet.index
    }
    waiting.insert(packet, at: place ?? waiting.count)
  }

  private mutating func giveUpOnFirst(_ counters: inout StreamCounters, into placed: inout [Placed]) {
    let packet = waiting.removeFirst()
    let lost = max(distance(from: last ?? packet.number, to: packet.number) - 1, 0)
    counters.lostPackets += lost
    place(packet, lost > 0 ? .lost(lost) : .none, into: &placed)
    placeThoseDue(&counters, into: &placed)
  }

  private mutating func placeThoseDue(_ counters: inout StreamCounters, into placed: inout [Placed]) {
    while let first = waiting.first, let last, distance(from: last, to: first.number) <= 1 {
      place(waiting.removeFirst(), .none, into: &placed)
    }
  }

  /// What the others do not catch up with has a wrong number.
  private mutating func dropStrays(_ counters: inout StreamCounters) {
    guard !waiting.isEmpty else { return }
    strayLimit -= 1
    guard strayLimit <= 0 else { return }
    counters.late += waiting.count
    waiting.removeAll()
  }

  private mutating func place(_ packet: AudioPacket, _ gap: Placed.Gap, into placed: inout [Placed]) {
    last = packet.number
    seen.append(packet)
    placed.append(Placed(gap: gap, packet: packet))
  }

  private func distance(from: UInt16, to: UInt16) -> Int { Int((to &- from) & mask) }
}

/// The latest packets, a fixed number of them.
private struct RecentPackets {
  private var ring: [AudioPacket.Seen] = []
  private var next = 0
  private let limit: Int

  init(limit: Int) {
    self.limit = limit
    ring.reserveCapacity(limit)
  }

  mutating func append(_ packet: AudioPacket) {
    if ring.count < limit { ring.append(.init(packet)) } else { ring[next] = .init(packet) }
    next = (next + 1) % limit
  }

  mutating func removeAll() {
    ring.removeAll(keepingCapacity: true)
    next = 0
  }

  /// The number of the one that is remembered longest.
  var oldest: UInt16? { ring.count < limit ? ring.first?.number : ring[next].number }

  func contains(_ packet: AudioPacket) -> Bool {
    // Hashing comes last: nearly every packet has a number of its own.
    guard contains(number: packet.number) else { return false }
    let wanted = AudioPacket.Seen(packet)
    return ring.contains(wanted)
  }

  func contains(number: UInt16) -> Bool { ring.contains { $0.number == number } }
}
