import BlueZ
import BlueZTesting
import Btsnoop
import Testing

/// The same conversations with devices over the fake, and with their recordings from the lab. The radio tests have them
/// with both over the air.
@Suite("Devices and their recordings", .timeLimit(.minutes(5)))
struct LabDeviceTests {
  @Test func `a sensor over the fake beats`() async throws {
    let pulse = Pulse()
    let beating = Task { try await pulse.beat() }
    let course = try await serving(pulse.services) { try await Pulse.hold(with: $0) }
    #expect(course == Pulse.course)
    beating.cancel()
    await #expect(throws: CancellationError.self) { try await beating.value }
  }

  @Test func `the recording of a sensor beats as the sensor did`() async throws {
    let course = try await replaying(.ofLab("pulse")) { try await Pulse.hold(with: $0) }
    #expect(course == Pulse.course)
  }

  @Test func `a recording with a changed measurement or answer is another sensor`() async throws {
    let pulse = try RecordedDevice.ofLab("pulse")
    let others = [
      pulse.sending("2a37") { if $0[1] % 2 == 0 { $0[1] += 1 } }, pulse.answering("2a38") { $0.value = [2] },
    ]
    for other in others {
      #expect(other != pulse)
      let course = try await replaying(other) { try await Pulse.hold(with: $0) }
      #expect(course != Pulse.course)
    }
    let silent = pulse.answering("2a38") { $0.error = ATTError(rawValue: 0x80) }
    let refused = try await replaying(silent) { sensor in try await code { try await Pulse.hold(with: sensor) } }
    #expect(refused == .attributeError)
  }

  @Test func `a strongbox over the fake pairs and opens`() async throws {
    let course = try await serving(Strongbox().services) { try await Strongbox.hold(with: $0) }
    #expect(course == Strongbox.course)
  }

  @Test func `the recording of a strongbox pairs and opens as the box did`() async throws {
    let (course, isPaired) = try await replaying(.ofLab("strongbox")) { box in
      (try await Strongbox.hold(with: box), box.isPaired)
    }
    #expect(course == Strongbox.course)
    #expect(isPaired)
  }

  @Test func `a recording with a changed secret, state or refusal is another box`() async throws {
    let box = try RecordedDevice.ofLab("strongbox")
    let command = Strongbox.command.description
    let others = [
      box.answering(Strongbox.secret.description) { $0.value[0] ^= 1 },
      box.sending(Strongbox.state.description) { $0 = [7] },
      box.refusing(command, with: ATTError(rawValue: 0x80)),
    ]
    for other in others {
      #expect(other != box)
      var course: Strongbox.Course?
      do { course = try await replaying(other) { try await Strongbox.hold(with: $0) } } catch is BlueZError {}
      #expect(course != Strongbox.course)
    }
  }

  @Test func `the secret of a recorded strongbox is for paired centrals`() async throws {
    let box = try RecordedDevice.ofLab("strongbox")
    let secrets = box.table.characteristics.filter { $0.uuid == AttributeUUID(Strongbox.secret.description) }
    #expect(secrets.count == 1)
    #expect(secrets.allSatisfy { box.protected.contains($0.valueHandle) })
  }

  // MARK: Helpers

  private func serving<Result>(
    _ services: [LocalService], _ body: (Device) async throws -> Result
  ) async throws -> Result {
    let lab = try await FakeBlueZ.start()
    let peripheral = try await lab.adapter(0)
    let agent = try await peripheral.session.register(PairingAgent(authorizePairing: { _ in true }))
    let application = try await peripheral.offer(services)
    let advertisement = try await peripheral.advertise(.init(services: [services[0].uuid]))
    let central = try await lab.adapter(1)
    let device = try await central.find(peripheral.address)
    try await device.connect()
    let result = try await body(device)
    withExtendedLifetime((agent, application, advertisement)) {}
    for adapter in [central, peripheral] { adapter.session.close() }
    try await lab.stop()
    return result
  }

  private func replaying<Result>(
    _ device: RecordedDevice, _ body: (Device) async throws -> Result
  ) async throws -> Result {
    let lab = try await FakeBlueZ.start(adapters: 1)
    let replayed = try await lab.replay(device)
    let central = try await lab.adapter(0)
    let found = try await central.find(replayed.address)
    try await found.connect()
    let result = try await body(found)
    central.session.close()
    try await lab.stop()
    return result
  }
}
