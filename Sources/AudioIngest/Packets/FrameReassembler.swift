/// A reassembler of frames from a device's notifications, which counts every fault.
///
/// It is a value without a clock: the caller passes the instant of each arrival. Whatever it receives, it holds at most
/// eight packets that wait for an earlier one, and one incomplete frame of 16 KiB.
///
/// ```swift
/// var reassembler = FrameReassembler(.omi)
/// reassembler.frameDuration = AudioCodec.opus20ms.frameDuration
/// var events: [FrameEvent] = []
/// let notification: [UInt8] = [0, 0, 0] + [UInt8](repeating: 0xa5, count: 80)
/// reassembler.receive(notification, at: .milliseconds(20), into: &events)
/// print(events.count, reassembler.counters.frames)  // 1 1
/// ```
public struct FrameReassembler: Sendable {
  /// The duration by which a loss may exceed the time that passed: devices buffer up to 1.28 s (64 frames of 20 ms) when
  /// the connection stalls, and the radio adds its own delays.
  static let slack = Duration.seconds(3)

  /// The counters of packets, frames and faults so far.
  public private(set) var counters = StreamCounters()
  /// The duration of a frame, if the codec is known.
  ///
  /// A loss longer than the time that has passed then counts as a restart of the device.
  public var frameDuration: Duration?

  private let framing: PacketFraming
  private var sequencer: PacketSequencer
  private var assembler = FrameAssembler()
  private var placed: [PacketSequencer.Placed] = []
  /// The instant at which a packet was last put in order.
  private var lastPlaced: Duration?

  /// Creates a reassembler for notifications of a framing.
  public init(_ framing: PacketFraming) {
    self.framing = framing
    sequencer = PacketSequencer(framing)
  }

  /// The number of bytes and packets held, for tests of the limits.
  var pending: (bytes: Int, packets: Int) { (assembler.pendingBytes, sequencer.waitingCount) }

  /// Accepts a notification, and appends the frames and losses that it completes.
  /// - Parameters:
  ///   - value: The notification's bytes.
  ///   - instant: The instant of its arrival, on any monotonic clock.
  ///   - events: The array to append to.
  public mutating func receive(_ value: [UInt8], at instant: Duration, into events: inout [FrameEvent]) {
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

  /// Stops waiting for missing packets, and completes a frame that certainly is complete.
  ///
  /// Call it when no notification has arrived for a while; the rest of a frame may still arrive.
  public mutating func pause(at instant: Duration, into events: inout [FrameEvent]) {
    placeAll(at: instant, into: &events)
    assembler.pause(&counters, into: &events)
  }

  /// Stops waiting for missing packets and fragments, at the end of a stream.
  public mutating func flush(at instant: Duration, into events: inout [FrameEvent]) {
    placeAll(at: instant, into: &events)
    assembler.flush(&counters, into: &events)
  }

  private mutating func placeAll(at instant: Duration, into events: inout [FrameEvent]) {
    placed.removeAll(keepingCapacity: true)
    sequencer.flush(&counters, into: &placed)
    assemble(at: instant, into: &events)
  }

  /// Starts a new stream after a reconnection: the packet numbers of the two do not compare.
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

  /// Appends the several frames of one packet.
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

  /// Turns losses that would have lasted longer than the time that passed into restarts.
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
