import DeterministicTesting
import SystemTesting
import Testing

@testable import EdgeCoder

@Suite("The state machine of the phone", .computing) struct PhoneMachineTests {
  private let a = PeerID("a")
  private let b = PeerID("b")

  private func machine(single: Bool = false, _ change: (inout PhoneConfiguration) -> Void = { _ in }) -> PhoneMachine {
    var configuration = PhoneConfiguration()
    change(&configuration)
    var machine = PhoneMachine(configuration: configuration, addressesSinglePeer: single)
    _ = machine.handle(.transportUp, at: .zero)
    return machine
  }

  private func write(_ peer: PeerID, _ text: String, offset: Int = 0, mtu: Int? = 517) -> PhoneTransportEvent {
    .write(PhoneWrite(peer: peer, bytes: Array(text.utf8), offset: offset, mtu: mtu))
  }

  private func request(_ peer: PeerID, _ id: String, mtu: Int? = 517) -> PhoneTransportEvent {
    .write(PhoneWrite(peer: peer, bytes: Wire.Request(id: id, prompt: "p").encoded(), mtu: mtu))
  }

  /// Returns a random event of the transport that concerns the peer.
  private func randomPeerEvent(of peer: PeerID, using generator: inout SeededGenerator) -> PhoneTransportEvent {
    let characteristic = EdgeCoderCharacteristic.allCases.randomElement(using: &generator) ?? .status
    switch Int.random(in: 0...7, using: &generator) {
    case 0: return .connected(peer)
    case 1: return .disconnected(peer)
    case 2: return .mtu(peer, Int.random(in: -5...600, using: &generator))
    case 3: return .subscribed(Bool.random(using: &generator) ? peer : nil, characteristic, mtu: 23)
    case 4: return .unsubscribed(Bool.random(using: &generator) ? peer : nil, characteristic)
    case 5, 6: return request(peer, "\(Int.random(in: 0...3, using: &generator))")
    default:
      let alphabet = Array(#"{}":,\id1 "#.utf8)
      var bytes: [UInt8] = []
      for _ in 0..<40 { bytes.append(alphabet.randomElement(using: &generator) ?? 0) }
      return .write(PhoneWrite(peer: peer, bytes: bytes, offset: Int.random(in: -1...600, using: &generator)))
    }
  }

  // MARK: Receiving

  @Test("Interleaved centrals are kept apart") func interleavedCentralsAreKeptApart() {
    for seed in 0..<50 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      var machine = machine { $0.queue.limit = 100 }
      let peers = [a, b, PeerID("c")]
      var streams = peers.map { peer in
        (0..<5).flatMap { Wire.Request(id: "\(peer)\($0)", prompt: "{\"é\\").encoded() }
          .randomPieces(longest: 30, using: &generator)
      }
      while let index = streams.indices.filter({ !streams[$0].isEmpty }).randomElement(using: &generator) {
        let piece = streams[index].removeFirst()
        _ = machine.handle(.write(PhoneWrite(peer: peers[index], bytes: piece)), at: .zero)
      }
      #expect(machine.counters.requests == 15, "seed \(seed)")
      #expect(machine.counters.refused.malformed == 0, "seed \(seed)")
      for peer in peers {
        let ids = machine.queue.waiting.filter { $0.peer == peer }.map(\.request.id)
        #expect(ids == (0..<5).map { "\(peer)\($0)" }, "seed \(seed)")
      }
    }
  }

  @Test("A long write in fragments is a request") func aLongWriteInFragmentsIsARequest() {
    var machine = machine()
    let text = #"{"id":"1","prompt":"long"}"#
    _ = machine.handle(write(a, String(text.prefix(10))), at: .zero)
    _ = machine.handle(write(a, String(text.dropFirst(10)), offset: 10), at: .zero)
    #expect(machine.startJob()?.request == Wire.Request(id: "1", prompt: "long", maxTokens: 512))
  }

  @Test("An endless request is bounded and discarded") func anEndlessRequestIsBoundedAndThrownAway() {
    var machine = machine { $0.requestLimit = 1000 }
    _ = machine.handle(write(a, #"{"id":"1","prompt":""#), at: .zero)
    for _ in 0..<1000 { _ = machine.handle(write(a, String(repeating: "x", count: 500)), at: .zero) }
    #expect(machine.counters.refused.malformed == 1)
    #expect((machine.peers.peers[a]?.scanner.buffer.count ?? 0) == 0)
    _ = machine.expire(at: .seconds(10))
    _ = machine.handle(request(a, "2"), at: .seconds(10))
    #expect(machine.startJob()?.request.id == "2")
  }

  @Test("An incomplete request is discarded after the idle limit")
  func anUnfinishedRequestIsForgottenAfterTheIdleLimit() {
    var machine = machine()
    _ = machine.handle(write(a, #"{"id":"1","prompt":"#), at: .zero)
    _ = machine.expire(at: .seconds(9))
    #expect(machine.counters.discardedBytes == 0)
    _ = machine.expire(at: .seconds(10))
    #expect(machine.counters.discardedBytes == 19)
  }

  @Test("Writes of centrals over the limit are refused") func moreCentralsThanThereIsRoomForAreRefused() {
    var machine = machine { $0.peerLimit = 2 }
    for name in ["a", "b", "c"] { _ = machine.handle(request(PeerID(name), "1"), at: .zero) }
    #expect(machine.counters.refused.writes == 1)
    #expect(machine.queue.waiting.count == 2)
    _ = machine.handle(.disconnected(a), at: .zero)
    _ = machine.handle(request(PeerID("c"), "1"), at: .zero)
    #expect(machine.counters.refused.writes == 1)
  }

  @Test("Random input never traps") func randomInputNeverTraps() {
    for seed in 0..<100 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      var machine = machine(single: seed % 2 == 0) {
        $0.requestLimit = 300
        $0.queue.limit = 3
        $0.refusals.limit = 2
        $0.peerLimit = 3
      }
      var now = Duration.zero
      var job: PhoneJob?
      for _ in 0..<500 {
        let peer = PeerID(["a", "b", "c", "d"].randomElement(using: &generator) ?? "a")
        now += .milliseconds(Int.random(in: 0...400, using: &generator))
        switch Int.random(in: 0...11, using: &generator) {
        case 0...7: _ = machine.handle(randomPeerEvent(of: peer, using: &generator), at: now)
        case 8: if job == nil { job = machine.startJob() }
        case 9:
          if let number = job?.number {
            _ = machine.finish(
              number, JobOutcome(.text(String(repeating: "o", count: 99)), durationMs: 1))
            job = nil
          }
        case 10:
          guard case .send = machine.nextSend(at: now) else { break }
          if Bool.random(using: &generator) { _ = machine.didSend(at: now) } else { _ = machine.didFailToSend() }
        default: _ = machine.handle(.random(using: &generator) ? .transportUp : .transportDown("x"), at: now)
        }
        #expect(machine.peers.peers.count <= 3)
        #expect(machine.queue.waiting.count <= 3)
      }
    }
  }

  // MARK: MTU

  @Test("A broadcast fits the smallest MTU known") func aBroadcastFitsTheSmallestMTUKnown() {
    var machine = machine()
    #expect(machine.mtu(for: a) == nil)
    _ = machine.handle(.subscribed(nil, .response, mtu: 517), at: .zero)
    #expect(machine.mtu(for: a) == 517)
    _ = machine.handle(.mtu(b, 185), at: .zero)
    _ = machine.handle(request(a, "1", mtu: 247), at: .zero)
    #expect(machine.mtu(for: a) == 185)
    _ = machine.handle(.disconnected(b), at: .zero)
    #expect(machine.mtu(for: a) == 247)
  }

  @Test("A reply to one peer fits its own MTU") func aReplyToOnePeerFitsItsOwnMTU() {
    var machine = machine(single: true)
    _ = machine.handle(.subscribed(a, .response, mtu: 517), at: .zero)
    _ = machine.handle(.subscribed(b, .response, mtu: 23), at: .zero)
    #expect(machine.mtu(for: a) == 517)
    #expect(machine.mtu(for: b) == 23)
  }

  @Test("The chunk size follows the MTU in the middle of a reply") func theChunkSizeFollowsTheMTUInTheMiddleOfAReply() {
    var machine = machine()
    _ = machine.handle(request(a, "1", mtu: 247), at: .zero)
    guard let job = machine.startJob() else {
      Issue.record("no job")
      return
    }
    _ = machine.finish(job.number, JobOutcome(.text(String(repeating: "o", count: 900)), durationMs: 1))
    var sizes: [Int] = []
    for step in 0... {
      guard case .send(let chunk, _) = machine.nextSend(at: .milliseconds(10 * step)) else { break }
      sizes.append(chunk.count)
      _ = machine.didSend(at: .milliseconds(10 * step))
      if step == 1 { _ = machine.handle(.mtu(b, 103), at: .zero) }
    }
    #expect(sizes.prefix(4) == [244, 244, 100, 100])
  }

  // MARK: Memory

  @Test("An engine faster than the radio waits") func anEngineFasterThanTheRadioWaits() {
    var machine = machine()
    for number in 0..<5 { _ = machine.handle(request(a, "\(number)"), at: .zero) }
    var started = 0
    while let job = machine.startJob() {
      started += 1
      _ = machine.finish(job.number, JobOutcome(.text("o"), durationMs: 1))
    }
    #expect(started == 2, "two replies wait to be sent")
    guard case .send = machine.nextSend(at: .zero) else {
      Issue.record("nothing to send")
      return
    }
    #expect(!machine.didSend(at: .zero).isEmpty)
    #expect(machine.startJob() != nil)
  }
}
