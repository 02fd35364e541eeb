import Btsnoop
import Testing

@Suite("Btsnoop: channels with credits")
struct ChannelTests {
  /// A channel that this host opens: 0x40 here, 0x50 at the peer.
  private func opened(psm: UInt16 = 0x80) -> Conversation {
    var talk = Conversation()
    talk.connect()
    talk.send(
      L2CAPFrame.signals, [0x14, 7, 10, 0] + bytes(psm) + bytes(0x40) + bytes(100) + bytes(50) + bytes(10))
    talk.send(
      L2CAPFrame.signals, [0x15, 7, 10, 0] + bytes(0x50) + bytes(200) + bytes(60) + bytes(10) + bytes(0),
      fromHost: false)
    return talk
  }

  private static let channel = TrafficChannel(
    psm: 0x80, hostChannel: 0x40, peerChannel: 0x50, hostMTU: 100, peerMTU: 200)

  @Test func `messages of several packets are put together, in both directions`() {
    var talk = opened()
    talk.send(0x50, [5, 0, 1, 2, 3])
    talk.send(0x40, [1, 0, 9], fromHost: false)
    talk.send(0x50, [4, 5])
    talk.send(0x50, [0, 0])
    talk.send(L2CAPFrame.signals, [0x06, 8, 4, 0] + bytes(0x50) + bytes(0x40))
    talk.send(0x50, [1, 0, 1])
    #expect(
      talk.events.dropFirst().map(\.kind) == [
        .channelOpened(Self.channel, isFromHost: true), .channelData(Self.channel, [9], isFromHost: false),
        .channelData(Self.channel, [1, 2, 3, 4, 5], isFromHost: true), .channelData(Self.channel, [], isFromHost: true),
        .channelClosed(Self.channel, isFromHost: true),
      ])
  }

  @Test func `a refused channel has its result`() {
    var talk = Conversation()
    talk.connect()
    talk.send(L2CAPFrame.signals, [0x14, 7, 10, 0] + bytes(0x80) + bytes(0x40) + bytes(100) + bytes(50) + bytes(10))
    talk.send(L2CAPFrame.signals, [0x15, 7, 10, 0] + [UInt8](repeating: 0, count: 8) + bytes(2), fromHost: false)
    #expect(talk.events.last?.kind == .channelRefused(psm: 0x80, result: 2, isFromHost: true))
  }

  @Test func `attributes over a channel of EATT are attributes`() {
    var talk = opened(psm: 0x27)
    talk.send(0x50, [3, 0, 0x0a, 12, 0])
    talk.send(0x40, [2, 0, 0x0b, 7], fromHost: false)
    #expect(talk.events.operations.map(\.value) == [[7]])
  }

  @Test func `five channels of one request are opened by one response`() {
    var talk = Conversation()
    talk.connect()
    let (mine, theirs) = ([0x40, 0x41, 0x42] as [UInt16], [0x50, 0, 0x52] as [UInt16])
    talk.send(
      L2CAPFrame.signals, [0x17, 1, 14, 0] + [0x27, 100, 64, 5].flatMap(bytes) + mine.flatMap(bytes))
    talk.send(
      L2CAPFrame.signals, [0x18, 1, 14, 0] + [90, 64, 5, 4].flatMap(bytes) + theirs.flatMap(bytes), fromHost: false)
    let opened = talk.events.compactMap { if case .channelOpened(let channel, _) = $0.kind { channel } else { nil } }
    #expect(opened.map(\.hostChannel) == [0x40, 0x42])
    #expect(opened.map(\.peerChannel) == [0x50, 0x52])
  }
}
