import BlueZ
import BlueZTesting
import Streams
import Testing

/// Calls of a peer that owes its answer when the connection ends, as on BlueZ 5.82, which answers them 30 s later.
extension ContractTests {
  /// The calls that bluetoothd answers when the peer has.
  enum PeerCall: CaseIterable, Sendable {
    case read, write, descriptor
  }

  /// A characteristic that is asked and never answers; its waits end with the test's process.
  private static func silent(asked: @escaping @Sendable () -> Void) -> LocalCharacteristic {
    let read: @Sendable (ReadRequest) async throws -> [UInt8] = { _ in
      asked()
      try await Task.sleep(for: .seconds(600))
      return []
    }
    return LocalCharacteristic(
      Parlour.box, [.read, .write], descriptors: [LocalDescriptor("2901", .read, read: read)], read: read,
      writes: .handler { _ in
        asked()
        try await Task.sleep(for: .seconds(600))
      })
  }

  @Test("A call of a peer fails as soon as the connection ends", arguments: PeerCall.allCases)
  func pendingCalls(call: PeerCall) async throws {
    let (asked, source) = BoundedStream.make(of: Void.self, limit: 4)
    let box = Self.silent { source.yield(()) }
    let lab = try await FakeBlueZ.start(.init(version: BlueZRelease(5, 82)))
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let application = try await phone.offer([LocalService(Parlour.service, characteristics: [box])])
    let advertisement = try await phone.advertise(.init(services: [Parlour.service]))
    let device = try await firstSeen(by: central)
    try await device.connect()
    let remote = try device.characteristic(Parlour.box, in: Parlour.service)
    let pending = Task {
      switch call {
      case .read: _ = try await remote.read(timeout: .seconds(600))
      case .write: try await remote.write([1], timeout: .seconds(600))
      case .descriptor: _ = try await remote.descriptor("2901").read(timeout: .seconds(600))
      }
    }
    for await _ in asked { break }
    await lab.adapters[1].loseConnections()
    let error = await #expect(throws: BlueZError.self) { try await pending.value }
    #expect(error?.code == .notConnected)
    #expect(error?.hint?.contains("meanwhile") == true)
    withExtendedLifetime((application, advertisement)) {}
    try await lab.stop()
  }

  @Test("A cancelled call of a peer ends as a cancellation, with the connection in place")
  func cancelledCall() async throws {
    let (asked, source) = BoundedStream.make(of: Void.self, limit: 4)
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let box = Self.silent { source.yield(()) }
    let application = try await phone.offer([LocalService(Parlour.service, characteristics: [box])])
    let advertisement = try await phone.advertise(.init(services: [Parlour.service]))
    let device = try await firstSeen(by: central)
    try await device.connect()
    let remote = try device.characteristic(Parlour.box, in: Parlour.service)
    let pending = Task { try await remote.read(timeout: .seconds(600)) }
    for await _ in asked { break }
    pending.cancel()
    await #expect(throws: CancellationError.self) { try await pending.value }
    #expect(device.isConnected)
    withExtendedLifetime((application, advertisement)) {}
    try await lab.stop()
  }
}
