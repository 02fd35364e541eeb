/// An assembler of frames from packets that are in order.
///
/// Devices number in two ways: each notification (as the firmware does), or each frame, with one number for all of its
/// fragments (as the firmware's document shows). The first frame of two fragments shows which of them applies.
struct FrameAssembler {
  private enum Numbering { case unknown, perFrame, perNotification }

  /// The state of the frame being assembled.
  private enum State {
    /// The next fragment starts a frame.
    case between
    case collecting(pieces: Int)
    /// The rest of a frame that is counted as lost; `next` would be its next fragment.
    case skipping(next: Int)
  }

  private var state = State.between
  private var numbering = Numbering.unknown
  private var frame: ArraySlice<UInt8> = []
  private var lastNumber: UInt16 = 0
  /// The number of fragments of the last complete frame, and the largest such number; 0 before there was one.
  private var usualPieces = 1
  private var mostPieces = 0
  private var hasBegun = false
  /// The length of the last fragment, and of one that another followed: a shorter one ends its frame.
  private var pieceLength = 0
  private var fullPieceLength = 0

  /// The number of bytes that wait for the rest of their frame.
  var pendingBytes: Int { frame.count }

  /// Accepts the next packet, and appends complete and missing frames to `events`.
  mutating func take(
    _ placed: PacketSequencer.Placed, _ counters: inout StreamCounters, into events: inout [FrameEvent]
  ) {
    let packet = placed.packet
    switch placed.gap {
    case .reset:
      flush(&counters, into: &events)
      self = FrameAssembler()
      events.append(.restarted)
    case .lost(let numbers): passOver(numbers, to: packet, &counters, into: &events)
    case .none: break
    }
    if packet.index == 0 { begin(packet, &counters, into: &events) } else { go(on: packet, &counters, into: &events) }
    lastNumber = packet.number
    hasBegun = true
  }

  /// Completes the waiting frame if it certainly is complete: no packet arrives now, but the rest of a frame still may.
  mutating func pause(_ counters: inout StreamCounters, into events: inout [FrameEvent]) {
    guard case .collecting(let pieces) = state, mostPieces > 0 else { return }
    if pieceLength < fullPieceLength || pieces >= mostPieces { finish(pieces, &counters, into: &events) }
  }

  /// Completes the waiting frame if it can be complete: no more packets arrive.
  mutating func flush(_ counters: inout StreamCounters, into events: inout [FrameEvent]) {
    if case .collecting(let pieces) = state { end(pieces, &counters, into: &events) }
    state = .between
  }

  /// Returns `true` if no fragment can be missing behind the last one.
  private func isWhole(_ pieces: Int) -> Bool { pieces >= usualPieces || pieceLength < fullPieceLength }

  private mutating func end(_ pieces: Int, _ counters: inout StreamCounters, into events: inout [FrameEvent]) {
    if isWhole(pieces) {
      finish(pieces, &counters, into: &events)
    } else {
      truncate(skippingTo: nil, &counters, into: &events)
    }
  }

  private mutating func begin(_ packet: AudioPacket, _ counters: inout StreamCounters, into events: inout [FrameEvent])
  {
    if case .collecting(let pieces) = state {
      // Where each notification has a number, the numbers prove that nothing is missing.
      if numbering == .perFrame {
        end(pieces, &counters, into: &events)
      } else {
        finish(pieces, &counters, into: &events)
      }
    }
    frame = packet.payload
    pieceLength = packet.payload.count
    state = .collecting(pieces: 1)
    if packet.isLast { finish(1, &counters, into: &events) }
  }

  private mutating func go(
    on packet: AudioPacket, _ counters: inout StreamCounters, into events: inout [FrameEvent]
  ) {
    let index = Int(packet.index)
    switch state {
    case .between where hasBegun && !continues(packet): lose(1, skippingTo: index + 1, &counters, into: &events)
    case .between:
      // A stream may start within a frame; later, the fragment's start was lost.
      if hasBegun { counters.orphanFragments += 1 }
      state = .skipping(next: index + 1)
    case .skipping(let next) where index >= next && continues(packet): state = .skipping(next: index + 1)
    case .skipping: lose(1, skippingTo: index + 1, &counters, into: &events)
    case .collecting(let pieces) where index == pieces && continues(packet):
      numbering = packet.number == lastNumber ? .perFrame : .perNotification
      guard frame.count + packet.payload.count <= PacketFraming.longestFrame else {
        counters.oversizedFrames += 1
        frame = []
        return lose(1, skippingTo: index + 1, &counters, into: &events)
      }
      fullPieceLength = pieceLength
      pieceLength = packet.payload.count
      frame.append(contentsOf: packet.payload)
      state = .collecting(pieces: pieces + 1)
      if packet.isLast { finish(pieces + 1, &counters, into: &events) }
    case .collecting(let pieces):
      let isAnotherFrame = !continues(packet) || index < pieces
      if isAnotherFrame, isWhole(pieces) {
        finish(pieces, &counters, into: &events)
        lose(1, skippingTo: index + 1, &counters, into: &events)
      } else {
        truncate(skippingTo: index + 1, &counters, into: &events)
        if isAnotherFrame { lose(1, skippingTo: index + 1, &counters, into: &events) }
      }
    }
  }

  /// Returns `true` if a fragment can belong to the frame of the last packet, by its number.
  private func continues(_ packet: AudioPacket) -> Bool { numbering != .perFrame || packet.number == lastNumber }

  /// Accounts for the numbers between the last packet and this one, which never arrived.
  private mutating func passOver(
    _ numbers: Int, to packet: AudioPacket, _ counters: inout StreamCounters, into events: inout [FrameEvent]
  ) {
    let index = Int(packet.index)
    var reached = 0
    switch state {
    case .collecting(let pieces) where !isWhole(pieces) || index > 0: reached = pieces
    case .skipping(let next): reached = next
    default: break
    }
    if numbering == .perFrame {
      flush(&counters, into: &events)
      lose(numbers, skippingTo: nil, &counters, into: &events)
    } else if reached > 0, index == reached + numbers {
      // All missing fragments belong to one frame.
      if case .collecting = state { truncate(skippingTo: index, &counters, into: &events) }
      return
    } else {
      let tail = reached > 0 ? max(usualPieces - reached, 0) : 0
      flush(&counters, into: &events)
      let whole = (numbers - tail - index + usualPieces / 2) / usualPieces
      lose(max(whole, 0), skippingTo: nil, &counters, into: &events)
    }
    // The frame of this packet has lost its start.
    lastNumber = packet.number
    if index > 0 { lose(1, skippingTo: index, &counters, into: &events) }
  }

  private mutating func finish(_ pieces: Int, _ counters: inout StreamCounters, into events: inout [FrameEvent]) {
    counters.frames += 1
    usualPieces = pieces
    mostPieces = max(mostPieces, pieces)
    events.append(.frame(frame))
    frame = []
    state = .between
  }

  private mutating func truncate(
    skippingTo next: Int?, _ counters: inout StreamCounters, into events: inout [FrameEvent]
  ) {
    counters.truncatedFrames += 1
    lose(1, skippingTo: next, &counters, into: &events)
  }

  private mutating func lose(
    _ count: Int, skippingTo next: Int?, _ counters: inout StreamCounters, into events: inout [FrameEvent]
  ) {
    frame = []
    state = next.map(State.skipping) ?? .between
    guard count > 0 else { return }
    counters.lostFrames += count
    if case .lost(let before)? = events.last {
      events[events.count - 1] = .lost(before + count)
    } else {
      events.append(.lost(count))
    }
  }
}
