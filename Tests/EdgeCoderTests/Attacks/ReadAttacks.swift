import DeterministicTesting
import EdgeCoderTesting
import SystemTesting
import Testing
import Timing

@testable import EdgeCoder

/// Centrals that read what was sent to another.
@Suite("Reading another central's reply", .timeLimit(.minutes(5))) struct ReadAttacks {
  private let clock = ManualClock()

  private func service(_ phone: LoopbackPhone) -> PhoneService {
    PhoneService(transport: phone, engine: CuriousEngine(), battery: { nil }, time: TimeSource(clock))
  }

  @Test("A reply can be read by its central alone, until it disconnects") func aReplyIsReadByItsCentralAlone()
    async throws
  {
    let phone = LoopbackPhone(addressesSinglePeer: true)
    let service = service(phone)
    try await running([service.run]) {
      let central = try await HandCentral(phone)
      let other = try await HandCentral(phone, "other")
      try await central.request("1", "private")
      _ = await central.reply()
      try await eventually { try await !central.connection.read(.response).isEmpty }
      #expect(try await other.connection.read(.response).isEmpty)
      phone.drop(central.connection.peer)
      let again = try await HandCentral(phone)
      #expect(again.connection.peer == central.connection.peer)
      #expect(try await again.connection.read(.response).isEmpty)
    }
  }

  @Test("A reply is forgotten within a minute") func aReplyIsForgotten() throws {
    var machine = PhoneMachine(configuration: PhoneConfiguration(), addressesSinglePeer: true)
    let peer = PeerID("central")
    _ = machine.handle(.connected(peer), at: .zero)
    let request = Wire.Request(id: "1", prompt: "x").encoded()
    _ = machine.handle(.write(PhoneWrite(peer: peer, bytes: request, mtu: 517)), at: .zero)
    let started = machine.startJob()
    let job = try #require(started)
    _ = machine.finish(job.number, JobOutcome(.text("private"), durationMs: 1))
    _ = machine.nextSend(at: .seconds(1))
    let set = machine.didSend(at: .seconds(1))
    #expect(set.contains { if case .setResponse(let value, of: peer) = $0 { !value.isEmpty } else { false } })
    #expect(machine.expire(at: .seconds(50)).isEmpty)
    #expect(machine.expire(at: .seconds(56)) == [.setResponse([], of: peer)])
    #expect(machine.expire(at: .seconds(57)).isEmpty)
  }

  @Test("A reply over an L2CAP channel reaches its central alone, also where a notification reaches all subscribers")
  func aReplyOverL2CAPReachesItsCentralAlone() async throws {
    let phone = LoopbackPhone(addressesSinglePeer: false, muxBearers: [.l2cap])
    let service = service(phone)
    let other = try await HandCentral(phone, "other")
    try await running([service.run]) {
      let connection = try await phone.connect(PeerID("/loopback/one"), mtu: 185)
      let client = MuxClient(
        try await connection.openMux(over: .l2cap), deflates: false, replyLimit: 1000, time: .continuous)
      let run = Task { await client.run() }
      try await client.waitUntilReady()
      #expect(try await client.exchange(prompt: "private", maxTokens: nil).answer.text == "private")
      run.cancel()
      _ = await run.value
      // By this the phone knows its MTU; with an unknown one the reply would come in many chunks.
      _ = try await connection.read(.status)
      try await other.request("1", "mine")
      #expect(await other.reply()?.answer.text == "mine", "nothing came before")
      #expect(try await other.connection.read(.response).isEmpty)
    }
    #expect(!phone.sent.contains { String(decoding: $0.bytes, as: UTF8.self).contains("private") })
  }

  @Test("Where bluetoothd cannot tell subscribers apart, no reply can be read") func nothingIsReadWhereAllHear()
    async throws
  {
    let phone = LoopbackPhone(addressesSinglePeer: false)
    let service = service(phone)
    try await running([service.run]) {
      let central = try await HandCentral(phone)
      try await central.request("1", "private")
      _ = await central.reply()
      try await eventually { await service.snapshot().counters.replies == 1 }
      #expect(try await central.connection.read(.response).isEmpty)
    }
  }
}
