import BlueZ
import BlueZTesting
import EdgeCoder
import EdgeCoderTesting
import Testing

/// Both roles over a fake BlueZ: everything but the radio.
@Suite("EdgeCoder over a fake BlueZ", .timeLimit(.minutes(5)))
struct FakeBlueZTests {
  @Test(
    "A prompt is answered, and answered again after bluetoothd was killed",
    arguments: [nil, MuxBearer.gatt, MuxBearer.l2cap])
  func promptAndReply(link: MuxBearer?) async throws {
    let lab = try await FakeBlueZ.start(.init(mtu: 185))
    // Which links are encrypted only the kernel tells, and it knows nothing of a fake's links.
    let transport = try await BlueZPhoneTransport.start(
      on: try await lab.adapter(0), name: "EdgeCoder-fake", access: .open, muxBearers: link.map { [$0] } ?? [])
    let phone = PhoneService(transport: transport, engine: EchoEngine())
    let radio = BlueZPhoneRadio(adapter: try await lab.adapter(1), access: .open)
    var configuration = CentralConfiguration()
    configuration.reconnection.backoff.limit = .milliseconds(200)
    let central = Central(scanner: radio, connector: radio, configuration: configuration)

    let prompt = String(repeating: "wörld 😀 ", count: 200)
    try await running([phone.run, central.run]) {
      try await ready(central, 1)
      let reply = try await central.generate(prompt: prompt, maxTokens: nil)
      #expect(reply.output.hasSuffix(prompt))
      #expect(await central.status().phones.first?.linkBearer == link)
      try await lab.kill()
      try await ready(central, 0)
      try await lab.startAgain()
      try await ready(central, 1)
      let second = try await central.generate(prompt: "again", maxTokens: nil)
      #expect(second.output.hasSuffix("again"))
      #expect(await central.status().phones.first?.linkBearer == link)
    }
    try await transport.stop()
    try await lab.stop()
  }

  @Test("Writes over a full event stream are refused and counted")
  func tooManyWrites() async throws {
    let lab = try await FakeBlueZ.start()
    let adapter = try await lab.adapter(0)
    let transport = try await BlueZPhoneTransport.start(on: adapter, access: .open)
    let device = try await lab.adapter(1).find(adapter.address)
    try await device.connect()
    let request = try device.characteristic(
      BluetoothUUID(stringLiteral: EdgeCoderUUIDs.request), in: BluetoothUUID(stringLiteral: EdgeCoderUUIDs.service))
    var taken = 0
    await #expect(throws: BlueZError.self) {
      while taken <= 2000 {
        try await request.write([1])
        taken += 1
      }
    }
    #expect((1000...1024).contains(taken))
    #expect(transport.writesRefused == 1)
    try await transport.stop()
    try await lab.stop()
  }

  private func ready(_ central: Central, _ count: Int) async throws {
    let events = await central.events()
    func isSo() async -> Bool { await central.status().phones.count { $0.state == "ready" } == count }
    if await isSo() { return }
    for await _ in events where await isSo() { return }
  }
}
