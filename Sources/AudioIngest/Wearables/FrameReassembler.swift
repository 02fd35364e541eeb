/// Makes frames of a device's notifications and counts whatever is wrong with them.
///
/// A value without clock: the caller says when a notification arrived. It keeps at most eight packets that wait for
/// one before them and one unfinished frame of 16 KiB, whatever it is fed.
public struct FrameReassembler: Sendable {
  /// How much longer than the time that passed a loss may be: devices keep up to 1.28 s (64 frames of 20 ms) for a
  /// link that stands still, and the radio adds its own delays.
  static let slack = Duration.seconds(3)

  /// What was counted so far.
  public private(set) var counters = StreamCounters()
  /// How long a frame lasts, when the codec is known: a loss longer than the time that passed is then not believed.
  public var frameDuration: Duration?

  private let framing: PacketFraming
  private var sequencer: PacketSequencer
  private var assembler = FrameAssembler()
  private var placed: [PacketSequencer.Placed] = []
  /// When a packet was last found to be in its place.
  private var lastPlaced: Duration?

  /// Reads notifications of a framing.
  public init(_ framing: PacketFraming) {
    self.framing = framing
    sequencer = PacketSequencer(framing)
  }

  /// How many bytes and packets are kept, for tests of the bounds.
  var pending: (bytes: Int, packets: Int) { (assembler.pendingBytes, sequencer.waitingCount) }

  /// Takes a notification.
  /// - Parameters:
  ///   - value: its bytes.
  ///   - instant: when it arrived, on any monotonic clock.
  ///   - events: what came of it is appended here.
  public mutating func take(_ value: [UInt8], at instant: Duration, into events: inout [FrameEvent]) {
    counters.notifications += 1
    counters.bytes += value.count
    guard let packet = framing.packet(in: value) else {
      counters.malformed += 1
      return
    }
    placed.removeAll(keepingCapacity: true)
    sequencer.take(packet, &counters, into: &placed)
    assemble(at: instant, into: &events)
  }

  /// Waits no longer for a packet that is missing, and takes a frame for whole that surely is: call it when nothing came
  /// for a while. The rest of a frame may still come.
  public mutating func pause(at instant: Duration, into events: inout [FrameEvent]) {
    placeAll(at: instant, into: &events)
    assembler.pause(&counters, into: &events)
  }

  /// Waits no longer for what is missing or unfinished: call it at the end.
  public mutating func flush(at instant: Duration, into events: inout [FrameEvent]) {
    placeAll(at: instant, into: &events)
    assembler.flush(&counters, into: &events)
  }

  private mutating func placeAll(at instant: Duration, into events: inout [FrameEvent]) {
    placed.removeAll(keepingCapacity: true)
    sequencer.flush(&counters, into: &placed)
    assemble(at: instant, into: &events)
  }

  /// Begins anew after a link: what was sent between the two has no numbers.
  public mutating func restart() {
    sequencer.restart()
    assembler = FrameAssembler()
    lastPlaced = nil
  }

  private mutating func assemble(at instant: Duration, into events: inout [FrameEvent]) {
    guard !placed.isEmpty else { return }
    let start = events.count
    for item in placed {
      if let length = framing.frameLength {
        split(item, length, into: &events)
      } else {
        assembler.take(item, &counters, into: &events)
      }
    }
    doubt(lastPlaced.map { instant - $0 } ?? .zero, from: start, in: &events)
    lastPlaced = instant
  }

  /// Several frames in one packet.
  private mutating func split(_ item: PacketSequencer.Placed, _ length: Int, into events: inout [FrameEvent]) {
    let payload = item.packet.payload
    let count = payload.count / length
    switch item.gap {
    case .none: break
    case .reset: events.append(.restarted)
    case .lost(let packets):
      counters.lostFrames += packets * count
      if count > 0 { events.append(.lost(packets * count)) }
    }
    for index in 0..<count {
      events.append(.frame(payload.dropFirst(index * length).prefix(length)))
    }
    counters.frames += count
    if count * length < payload.count {
      counters.truncatedFrames += 1
      counters.lostFrames += 1
      events.append(.lost(1))
    }
  }

  /// Takes a loss for a new beginning when it would have lasted longer than the time that passed.
  private mutating func doubt(_ passed: Duration, from start: Int, in events: inout [FrameEvent]) {
    guard let frameDuration else { return }
    for index in start..<events.count {
      guard case .lost(let frames) = events[index], frameDuration * frames > passed + Self.slack else { continue }
      counters.lostFrames -= frames
      counters.resets += 1
      events[index] = .restarted
    }
  }
}
