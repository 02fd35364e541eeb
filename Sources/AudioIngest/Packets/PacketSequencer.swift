/// A sequencer that puts packets in the order of their numbers, and finds the missing ones.
///
/// A packet that arrives early waits for those before it, until eight wait. So an overtaken packet is no loss, and a loss
/// is known after eight packets, or when no more arrive.
struct PacketSequencer {
  /// A packet in order.
  struct Placed: Equatable {
    /// The distance between a packet and the one before.
    enum Gap: Equatable {
      case none
      /// The number of packets that never arrived.
      case lost(Int)
      /// The numbers start again: the packets between are unknown.
      case reset
    }

    var gap = Gap.none
    var packet: AudioPacket
  }

  /// The largest number of packets that wait for a missing one.
  static let patience = 8
  /// The number of packets remembered, to tell a late packet from a restarted device.
  static let memory = 64

  private let hasNumbers: Bool
  /// The mask of a packet number's bits.
  private let mask: UInt16
  private var last: UInt16?
  private var seen = RecentPackets(limit: memory)
  private var waiting: [AudioPacket] = []
  /// The number of packets that may still arrive in order while one waits far ahead of them.
  private var strayLimit = 0

  init(_ framing: PacketFraming) {
    hasNumbers = framing.number != nil
    mask = framing.number?.width == 1 ? 0xff : 0xffff
  }

  /// The number of waiting packets.
  var waitingCount: Int { waiting.count }

  /// Accepts the next packet, and appends the packets that are now in order.
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

  /// Stops waiting for missing packets.
  mutating func flush(_ counters: inout StreamCounters, into placed: inout [Placed]) {
    while !waiting.isEmpty { giveUpOnFirst(&counters, into: &placed) }
  }

  /// Starts a new sequence: the next packet is the first.
  mutating func restart() {
    last = nil
    seen.removeAll()
    waiting.removeAll()
  }

  /// Accepts a packet with a number that has been passed.
  private mutating func takeEarlier(
    _ packet: AudioPacket, _ counters: inout StreamCounters, into placed: inout [Placed]
  ) {
    if seen.contains(packet) {
      counters.duplicates += 1
      return
    }
    // Its number lies between numbers that arrived: it was given up, and its place is filled.
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
    // The fragments of a frame may share a number; then the index gives their order.
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

  /// Drops waiting packets that the others do not reach: their numbers are wrong.
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

/// A ring of the latest packets, of a fixed size.
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

  /// The number of the oldest remembered packet.
  var oldest: UInt16? { ring.count < limit ? ring.first?.number : ring[next].number }

  func contains(_ packet: AudioPacket) -> Bool {
    // Hashing is last: nearly every packet has a number of its own.
    guard contains(number: packet.number) else { return false }
    let wanted = AudioPacket.Seen(packet)
    return ring.contains(wanted)
  }

  func contains(number: UInt16) -> Bool { ring.contains { $0.number == number } }
}
