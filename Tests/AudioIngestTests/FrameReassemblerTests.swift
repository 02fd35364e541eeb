import AudioIngestTesting
import SystemTesting
import Testing

@testable import AudioIngest

@Suite("The frame reassembler", .computing) struct FrameReassemblerTests {
  /// The document's example: 320 bytes of PCM in values of 251 and 75 bytes.
  @Test("A frame of two fragments is reassembled", arguments: FakeSender.Numbering.allCases)
  func aFrameOfTwoPiecesIsOneFrame(_ numbering: FakeSender.Numbering) {
    var sender = FakeSender(numbering: numbering, fragment: 248, number: 7)
    let frames = (0..<3).map { numberedFrame($0, length: 320) }
    let notifications = frames.flatMap { sender.notifications($0) }
    #expect(notifications.prefix(2).map(\.count) == [251, 75])
    var reassembler = FrameReassembler(.omi)
    #expect(reassembler.events(notifications).map { $0.frame.map(Array.init) } == frames)
    #expect(reassembler.counters.frames == 3)
    #expect(reassembler.counters.lostFrames == 0)
  }

  /// A link that stands still between two pieces, be it in the first frame, makes no frame of the first one.
  @Test("A pause between two fragments does not end a frame", arguments: FakeSender.Numbering.allCases)
  func aPauseWithinAFrameDoesNotEndIt(_ numbering: FakeSender.Numbering) {
    var sender = FakeSender(numbering: numbering, fragment: 120)
    // Of one piece and of two by turns, as an encoder of variable rate makes them.
    let frames = (0..<40).map { numberedFrame($0, length: $0.isMultiple(of: 2) ? 200 : 110) }
    let notifications = frames.flatMap { sender.notifications($0) }
    var reassembler = FrameReassembler(.omi)
    let events = reassembler.events(notifications) { _ in true }
    #expect(events.map { $0.frame.map(Array.init) } == frames)
    #expect(reassembler.counters.lostFrames == 0)
    #expect(reassembler.counters.orphanFragments == 0)
  }

  /// When the device is muted, its last frame is kept all the same.
  @Test("A pause after the last fragment completes a frame") func aPauseBehindAFrameEndsIt() {
    var sender = FakeSender(fragment: 244)
    var reassembler = FrameReassembler(.omi)
    var events: [FrameEvent] = []
    for index in 0..<2 {
      let value = sender.notifications(numberedFrame(index, length: 160))[0]
      reassembler.receive(value, at: .milliseconds(index * 20), into: &events)
    }
    #expect(events.count == 1)
    reassembler.pause(at: .milliseconds(300), into: &events)
    #expect(events.compactMap(\.frame).map(frameIndex) == [0, 1])
  }

  @Test("A short notification completes its frame at once") func aShortNotificationIsAFrameAtOnce() {
    var reassembler = FrameReassembler(.omi)
    var events: [FrameEvent] = []
    reassembler.receive([1, 0, 0] + numberedFrame(9, length: 80), at: .zero, into: &events)
    #expect(events.compactMap(\.frame).map(frameIndex) == [9])
  }

  @Test("Packet numbers wrap around") func numbersGoOnBehindTheLast() {
    var sender = FakeSender(number: 65_533)
    var reassembler = FrameReassembler(.omi)
    let events = reassembler.events((0..<6).flatMap { sender.notifications(numberedFrame($0, length: 40)) })
    #expect(events.compactMap(\.frame).map(frameIndex) == Array(0..<6))
    #expect(reassembler.counters.lostPackets == 0)
    #expect(reassembler.counters.resets == 0)
  }

  @Test("A packet number of one byte wraps around") func aNumberOfOneByteGoesOnBehindTheLast() throws {
    let framing = try PacketFraming(header: 1, number: .init(offset: 0, width: 1))
    var reassembler = FrameReassembler(framing)
    let numbers = (250..<600).filter { $0 != 400 }
    let events = reassembler.events(numbers.map { [UInt8($0 & 0xff)] + numberedFrame($0, length: 20) })
    #expect(events.compactMap(\.frame).map(frameIndex) == numbers)
    #expect(events.map(\.lost).reduce(0, +) == 1)
  }

  @Test("A restart of the device is not counted as a loss") func aDeviceThatStartsAnewIsNoLoss() {
    var sender = FakeSender(number: 30)
    var notifications = (0..<20).flatMap { sender.notifications(numberedFrame($0, length: 40)) }
    // The old numbers come again, with other frames.
    sender.number = 0
    notifications += (100..<160).flatMap { sender.notifications(numberedFrame($0, length: 40)) }
    var reassembler = FrameReassembler(.omi)
    let events = reassembler.events(notifications)
    #expect(events.compactMap(\.frame).map(frameIndex).filter { $0 >= 100 }.first == 100)
    #expect(events.filter { $0 == .restarted }.count == 1)
    #expect(reassembler.counters.resets == 1)
    #expect(reassembler.counters.lostFrames == 0)
  }

  @Test("A loss longer than the time that passed counts as a restart") func aLossLongerThanTheTimeThatPassedIsNone() {
    var sender = FakeSender()
    var notifications = (0..<10).flatMap { sender.notifications(numberedFrame($0, length: 40)) }
    sender.number &+= 20_000
    notifications += (10..<30).flatMap { sender.notifications(numberedFrame($0, length: 40)) }
    var reassembler = FrameReassembler(.omi)
    reassembler.frameDuration = .milliseconds(10)
    let events = reassembler.events(notifications)
    #expect(events.compactMap(\.frame).map(frameIndex) == Array(0..<30))
    #expect(events.map(\.lost).reduce(0, +) == 0)
    #expect(reassembler.counters.resets == 1)
  }

  @Test("A packet with a stray number delays no other") func aStrayNumberHoldsNothingUp() {
    var sender = FakeSender()
    var notifications = (0..<40).flatMap { sender.notifications(numberedFrame($0, length: 40)) }
    notifications.insert([0xff, 0x3f, 0] + numberedFrame(7777, length: 40), at: 5)
    var reassembler = FrameReassembler(.omi)
    let events = reassembler.events(notifications)
    #expect(events.compactMap(\.frame).map(frameIndex) == Array(0..<40))
    #expect(reassembler.counters.late == 1)
    #expect(reassembler.counters.lostFrames == 0)
  }

  @Test("Malformed notifications are counted") func whatIsNoPacketIsCounted() {
    var reassembler = FrameReassembler(.omi)
    var events: [FrameEvent] = []
    for value in [[], [1], [1, 2], [UInt8](repeating: 0, count: 4097)] {
      reassembler.receive(value, at: .zero, into: &events)
    }
    #expect(events.isEmpty)
    #expect(reassembler.counters.malformed == 4)
    #expect(reassembler.counters.bytes == 4100)
  }

  @Test("A frame longer than the limit is dropped") func aFrameThatNeverEndsIsDropped() {
    var reassembler = FrameReassembler(.omi)
    let piece = [UInt8](repeating: 1, count: 500)
    var events: [FrameEvent] = []
    for index in 0..<200 {
      reassembler.receive([UInt8(index), 0, UInt8(index)] + piece, at: .zero, into: &events)
      #expect(reassembler.pending.bytes <= PacketFraming.longestFrame)
    }
    #expect(reassembler.counters.oversizedFrames == 1)
    #expect(events.map(\.lost).reduce(0, +) == 1)
    #expect(events.compactMap(\.frame).isEmpty)
  }

  @Test("A packet with several frames is divided") func aPacketMayHaveSeveralFrames() throws {
    let framing = try PacketFraming(header: 1, footer: 5, number: .init(offset: 0, width: 1), frameLength: 30)
    var reassembler = FrameReassembler(framing)
    func packet(_ number: UInt8) -> [UInt8] {
      [number] + (0..<3).flatMap { numberedFrame(Int(number) * 3 + $0, length: 30) } + [9, 9, 9, 9, 9]
    }
    let events = reassembler.events([0, 1, 3].map(packet))
    #expect(events.compactMap(\.frame).map(frameIndex) == [0, 1, 2, 3, 4, 5, 9, 10, 11])
    #expect(events.map(\.lost).reduce(0, +) == 3)
  }

  @Test("A framing outside its ranges is rejected") func aFramingThatCannotBeIsRefused() {
    #expect(throws: AudioIngestError.self) { try PacketFraming(header: 1, number: .init(offset: 0, width: 2)) }
    #expect(throws: AudioIngestError.self) { try PacketFraming(header: -1) }
    #expect(throws: AudioIngestError.self) { try PacketFraming(header: 2, fragmentIndex: 2) }
    #expect(throws: AudioIngestError.self) { try PacketFraming(header: 2, fragmentIndex: 1, frameLength: 4) }
    #expect(throws: AudioIngestError.self) { try PacketFraming(header: 0, frameLength: 0) }
  }
}
