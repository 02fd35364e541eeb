import DeterministicTesting
import EdgeCoderTesting
import Streams
import SystemTesting
import Testing
import Timing

@testable import EdgeCoder

/// Centrals that abuse a v2 mux: memory and work are bounded, and the mux closes.
@Suite("Abuse of the v2 mux", .timeLimit(.minutes(5))) struct MuxAttacks {
  private func server(requestLimit: Int = 1000) throws -> MuxServerMachine {
    let terms = MuxTerms(window: 65536, frameLimit: 600, inflates: true)
    var machine = MuxServerMachine(terms: terms, bearerLimit: 600, requestLimit: requestLimit)
    _ = try machine.handle(.hello(terms))
    _ = machine.next()
    return machine
  }

  /// Handles frames until the machine closes the mux, and returns how many it took; `nil` if it took all.
  private func taken(
    _ machine: inout MuxServerMachine, of count: Int, reading: Bool = true, _ frames: (UInt32) -> [MuxFrame]
  ) -> Int? {
    for number in 1...count {
      for frame in frames(UInt32(number)) {
        do {
          _ = try machine.handle(frame)
        } catch {
          return number
        }
      }
      if reading { while machine.next() != nil {} }
    }
    return nil
  }

  @Test("A central that opens requests which are refused, again and again, loses its mux", arguments: [true, false])
  func refusedRequestsEndTheMux(reading: Bool) throws {
    var machine = try server()
    let ended = taken(&machine, of: 100_000, reading: reading) {
      [.open(stream: $0, maxTokens: 0, length: 100_000, text: [])]
    }
    #expect(ended == MuxServerMachine.refusalLimit + 1)
  }

  @Test("A central that opens and cancels requests, again and again, loses its mux")
  func cancelledRequestsEndTheMux() throws {
    var machine = try server()
    let ended = taken(&machine, of: 100_000) {
      [.open(stream: $0, maxTokens: 0, length: 10, text: [1]), .cancel(stream: $0)]
    }
    #expect(ended == MuxServerMachine.refusalLimit + 1)
  }

  @Test("A central that sends requests and reads nothing loses its mux") func unreadFramesEndTheMux() throws {
    var machine = try server()
    let ended = taken(&machine, of: 100_000, reading: false) {
      [.open(stream: $0, maxTokens: 0, length: 1, text: [65]), .cancel(stream: $0)]
    }
    #expect((ended ?? .max) <= MuxServerMachine.urgentLimit + 1)
  }

  @Test("A central that cancels complete requests and reads may continue") func completeRequestsAreChargedElsewhere()
    throws
  {
    var machine = try server()
    let ended = taken(&machine, of: 5000) {
      [.open(stream: $0, maxTokens: 0, length: 1, text: [65]), .cancel(stream: $0)]
    }
    #expect(ended == nil)
  }

  @Test("Text on an ended stream is discarded up to its window; more closes the mux") func textOnDeadStreamsIsBounded()
    throws
  {
    var machine = try server()
    _ = try machine.handle(.open(stream: 1, maxTokens: 0, length: 100_000, text: []))
    let piece = [UInt8](repeating: 0, count: 512)
    let ended = taken(&machine, of: 10_000) { _ in [.data(stream: 1, text: piece)] }
    #expect(ended == 65536 / 512 + 1)
  }

  @Test("A reply that its central reads at a packet a minute ends, and the others go on")
  func aSlowReaderLosesItsReply() throws {
    var machine = try server()
    for stream: UInt32 in [1, 2] {
      _ = try machine.handle(.open(stream: stream, maxTokens: 0, length: 1, text: [65]))
      machine.append(stream, String(repeating: "x", count: 100_000))
    }
    while machine.next() != nil {}
    #expect(try machine.sweep().isEmpty)
    _ = try machine.handle(.credit(stream: 1, bytes: 500))
    _ = try machine.handle(.credit(stream: 2, bytes: 5000))
    while machine.next() != nil {}
    #expect(try machine.sweep() == [.cancel(stream: 1)])
    _ = try machine.handle(.credit(stream: 2, bytes: 5000))
    while machine.next() != nil {}
    #expect(try machine.sweep().isEmpty)
  }

  @Test("A request of which nothing more arrives ends within two minutes, and one that grows is answered")
  func anUnfinishedRequestIsForgotten() throws {
    var machine = try server(requestLimit: 10_000)
    for stream: UInt32 in [1, 2] {
      _ = try machine.handle(.open(stream: stream, maxTokens: 0, length: 5000, text: [65]))
    }
    #expect(try machine.sweep().isEmpty)
    _ = try machine.handle(.data(stream: 1, text: [UInt8](repeating: 65, count: 1023)))
    _ = try machine.handle(.data(stream: 2, text: [UInt8](repeating: 65, count: 1024)))
    #expect(try machine.sweep().isEmpty)
    let end = try machine.next().flatMap(MuxFrame.decode)
    guard case .end(1, .refused, _, _, _) = end else {
      Issue.record("the slow request was not ended")
      return
    }
    #expect(machine.next() == nil)
    #expect(try machine.handle(.data(stream: 1, text: [UInt8](repeating: 65, count: 3976))).isEmpty)
    let last = try machine.handle(.data(stream: 2, text: [UInt8](repeating: 65, count: 3975)))
    #expect(last == [.request(stream: 2, prompt: String(repeating: "A", count: 5000), maxTokens: nil)])
  }

  @Test("A peer that does not finish a frame over GATT loses its mux after half a minute")
  func anUnfinishedFrameEndsTheMux() async throws {
    let clock = ManualClock()
    let channel = GATTMuxChannel(
      mux: 7, peer: PeerID("slow"), time: TimeSource(clock),
      bearer: .init(valueLimit: { 20 }, send: { _ in }, onClose: {}))
    let frame = Task { try await channel.receive() }
    channel.deliver(MuxValue(mux: 7, kind: .last, bytes: [1]))
    #expect(try await frame.value == [1])
    let rest = Task { try await channel.receive() }
    channel.deliver(MuxValue(mux: 7, kind: .piece, number: 1, bytes: [2]))
    await clock.advance(toSleeperAt: .seconds(30))
    await #expect(throws: MalformedFrame.self) { try await rest.value }
  }

  @Test("Requests over a v2 mux count against the limits of their central, also over its next mux")
  func requestsOverAMuxAreLimited() {
    var configuration = PhoneConfiguration()
    configuration.rates.requestsPerMinute = 3
    var machine = PhoneMachine(configuration: configuration, addressesSinglePeer: true)
    func ask(_ peer: PeerID, mux: Int, _ number: UInt32) {
      let request = Wire.Request(id: "\(mux).\(number)", prompt: "p")
      _ = machine.handle(request, stream: MuxStream(mux: mux, number: number), from: peer, at: .zero)
    }
    for number: UInt32 in 1...4 { ask(PeerID("one"), mux: 1, number) }
    #expect(machine.queue.waiting.map(\.request.id) == ["1.1", "1.2", "1.3"])
    _ = machine.cancel(mux: 1, stream: nil)
    ask(PeerID("one"), mux: 2, 1)
    ask(PeerID("other"), mux: 3, 1)
    #expect(machine.queue.waiting.map(\.request.id) == ["3.1"])
    #expect(machine.counters.refused.limited == 2)
  }

  @Test("A peer that takes no frame loses its mux after half a minute") func aPeerThatTakesNothingLosesItsMux()
    async throws
  {
    let clock = ManualClock()
    let channel = StuckChannel()
    let server = MuxServer(channel, requestLimit: 1000, time: TimeSource(clock)) { _ in }
    let running = Task { await server.run() }
    try await eventually { channel.isSending }
    // WELCOME has less than 100 bytes.
    await clock.waitForSleeper(until: .seconds(60))
    clock.advance(by: .milliseconds(30_100))
    #expect(await running.value.contains("took no frame"))
  }

  @Test("Values of unknown muxes start a bounded number of tasks") func unknownValuesStartFewTasks() async throws {
    let underWay = Lock(0)
    let (_, source) = BoundedStream.make(of: (any MuxChannel).self, limit: 8)
    let radio = MuxValueHub.Radio(
      valueLimit: { $0 },
      notify: { _, _ in
        underWay.withLock { $0 += 1 }
        try await hang()
      })
    let hub = MuxValueHub(radio, source: source)
    for number: UInt16 in 0..<1000 {
      let value = MuxValue(mux: number, kind: .piece, number: 7, bytes: [1])
      #expect(!hub.receive(value.encoded, mtu: 185, from: PeerID("stranger")))
    }
    try await eventually { underWay.withLock { $0 } == MuxValueHub.closingLimit }
    for _ in 0..<100 { await Task.yield() }
    #expect(underWay.withLock { $0 } == MuxValueHub.closingLimit)
  }
}

/// A channel whose peer says HELLO and takes nothing.
private final class StuckChannel: MuxChannel {
  let peer = PeerID("stuck")
  let sendLimit = 600
  let receiveLimit = 600
  private let state = Lock((greeted: false, sending: false))

  var isSending: Bool { state.withLock { $0.sending } }

  func send(_ frame: [UInt8]) async throws {
    state.withLock { $0.sending = true }
    try await hang()
  }

  func receive() async throws -> [UInt8]? {
    let isFirst = state.withLock { state in
      defer { state.greeted = true }
      return !state.greeted
    }
    if !isFirst { try await hang() }
    return MuxFrame.hello(terms(inflates: false)).encoded()
  }

  func close() async {}
}
