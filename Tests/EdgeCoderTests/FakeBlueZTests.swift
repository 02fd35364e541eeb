import BlueZ
import BlueZTesting
import EdgeCoder
import Testing

/// Both roles over a fake BlueZ: everything but the radio.
@Suite("EdgeCoder over a fake BlueZ", .timeLimit(.minutes(1)))
struct FakeBlueZTests {
  @Test("A prompt is answered, and answered again after bluetoothd was killed")
  func promptAndReply() async throws {
    let lab = try await FakeBlueZ.start(.init(mtu: 185))
    // Which links are encrypted only the kernel tells, and it knows nothing of a fake's links.
    let transport = try await BlueZPhoneTransport.start(
      on: try await lab.adapter(0), name: "EdgeCoder-fake", access: .open)
    let phone = PhoneService(transport: transport, engine: EchoEngine())
    let radio = BlueZPhoneRadio(adapter: try await lab.adapter(1))
    var configuration = CentralConfiguration()
    configuration.backoff.cap = .milliseconds(200)
    let central = Central(scanner: radio, connector: radio, configuration: configuration)

    let prompt = String(repeating: "wörld 😀 ", count: 200)
    try await running([phone.run, central.run]) {
      try await ready(central, 1)
      let reply = try await central.generate(prompt: prompt, maxTokens: nil)
      #expect(reply.output.hasSuffix(prompt))
      try await lab.kill()
      try await ready(central, 0)
      try await lab.startAgain()
      try await ready(central, 1)
      let second = try await central.generate(prompt: "again", maxTokens: nil)
      #expect(second.output.hasSuffix("again"))
    }
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
