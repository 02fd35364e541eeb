import BlueZ
import BlueZTesting
import EdgeCoder
import EdgeCoderTesting
import Streams
import SystemTesting
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

  @Test(
    "A phone that indicates its replies and states instead of notifying them is used like any other",
    arguments: [BlueZRelease(5, 66), BlueZRelease(5, 77), BlueZRelease(5, 82)])
  func aPhoneThatIndicates(version: BlueZRelease) async throws {
    let lab = try await FakeBlueZ.start(.init(version: version, mtu: 185))
    let phone = try IndicatingPhone(isConfirmed: !(BlueZRelease(5, 74)...BlueZRelease(5, 79)).contains(version))
    let offered = try await phone.offer(at: try await lab.adapter(0))
    let radio = BlueZPhoneRadio(adapter: try await lab.adapter(1), access: .open)
    let central = Central(scanner: radio, connector: radio)
    try await running([phone.run, central.run]) {
      try await ready(central, 1)
      try await eventually("the state arrives") { await central.status().modelState == "ready" }
      // In several pieces each way.
      let prompt = String(repeating: "wörld 😀 ", count: 100)
      #expect(try await central.generate(prompt: prompt, maxTokens: nil).answer == .text(prompt))
    }
    withExtendedLifetime(offered) {}
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

/// A phone of another make: its replies and its state are indicated, and cannot be read.
private struct IndicatingPhone: Sendable {
  private let response = LocalCharacteristic(BluetoothUUID(stringLiteral: EdgeCoderUUIDs.response), .indicate)
  private let status = LocalCharacteristic(BluetoothUUID(stringLiteral: EdgeCoderUUIDs.status), .indicate)
  private let request: LocalCharacteristic
  private let requests: BoundedStream<Wire.Request>
  /// A Boolean value that indicates whether bluetoothd reports confirmations, which some releases lose.
  private let isConfirmed: Bool

  init(isConfirmed: Bool) throws {
    let (requests, source) = BoundedStream.make(of: Wire.Request.self, limit: 4)
    let scanner = Lock(JSONObjectScanner())
    self.requests = requests
    self.isConfirmed = isConfirmed
    request = LocalCharacteristic(
      BluetoothUUID(stringLiteral: EdgeCoderUUIDs.request), [.write, .writeWithoutResponse],
      writes: .handler { write in
        for event in scanner.withLock({ $0.receive(write.value, at: .zero) }) {
          if case .object(let bytes) = event { source.yield(try Wire.Request.decode(bytes)) }
        }
      })
  }

  func offer(at adapter: Adapter) async throws -> (GATTApplication, Advertisement) {
    let uuid = BluetoothUUID(stringLiteral: EdgeCoderUUIDs.service)
    let service = LocalService(uuid, characteristics: [request, response, status])
    return (try await adapter.offer([service]), try await adapter.advertise(.init(services: [uuid])))
  }

  /// Indicates the state to whoever subscribes, and repeats prompts.
  func run() async {
    await withDiscardingTaskGroup { group in
      group.addTask {
        for await event in status.subscriptions() {
          if case .subscribed = event { await send(Wire.Status(modelState: .ready).encoded(), by: status) }
        }
      }
      group.addTask {
        for await request in requests {
          let reply = Wire.Response(id: request.id, answer: .text(request.prompt), durationMs: 1).encoded()
          for start in stride(from: 0, to: reply.count, by: 182) {
            await send(Array(reply[start..<min(start + 182, reply.count)]), by: response)
          }
        }
      }
    }
  }

  private func send(_ value: [UInt8], by characteristic: LocalCharacteristic) async {
    do {
      if isConfirmed { try await characteristic.indicate(value) } else { try await characteristic.notify(value) }
    } catch is CancellationError {
      // The test is over; the central has had the value.
    } catch {
      Issue.record(error)
    }
  }
}
