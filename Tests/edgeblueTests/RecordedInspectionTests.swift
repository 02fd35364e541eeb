import BlueZ
import BlueZTesting
import Btsnoop
import Foundation
import Testing

@testable import edgeblue

/// What the command prints about devices over the fake, and about their recordings from the lab. The radio tests compare
/// the same texts with devices over the air.
@Suite("The command inspect and recorded devices", .timeLimit(.minutes(5))) struct RecordedInspectionTests {
  private static let services = ["pulse": Pulse().services, "strongbox": Strongbox().services]

  @Test("A device over the fake is inspected", arguments: services.keys.sorted())
  func original(name: String) async throws {
    let lab = try await FakeBlueZ.start()
    let peripheral = try await lab.adapter(1)
    let agent = try await peripheral.session.register(PairingAgent(authorizePairing: { _ in true }))
    let services = try #require(Self.services[name])
    let application = try await peripheral.offer(services)
    let advertisement = try await peripheral.advertise(.init(services: [services[0].uuid]))
    #expect(try await inspected(peripheral.address, in: lab).isSuperset(of: expected(name)))
    withExtendedLifetime((agent, application, advertisement)) {}
    peripheral.session.close()
    try await lab.stop()
  }

  @Test("The recording of a device is inspected as the device was", arguments: services.keys.sorted())
  func recorded(name: String) async throws {
    #expect(try await inspected(.ofLab(name)).isSuperset(of: expected(name)))
  }

  @Test("A recording with a changed answer is inspected otherwise")
  func changed() async throws {
    let pulse = try RecordedDevice.ofLab("pulse")
    let box = try RecordedDevice.ofLab("strongbox")
    let others = [
      ("pulse", pulse.answering("2a38") { $0.value = [2] }), ("pulse", pulse.answering("2a19") { $0.value = [86] }),
      ("pulse", pulse.answering("2a38") { $0.error = ATTError(rawValue: 0x80) }),
      ("strongbox", box.answering(Strongbox.secret.description) { $0.value[0] ^= 1 }),
      ("strongbox", box.answering(Strongbox.secret.description) { $0.error = ATTError(rawValue: 0x08) }),
    ]
    for (name, other) in others {
      #expect(try other != RecordedDevice.ofLab(name))
      #expect(try await !inspected(other).isSuperset(of: expected(name)))
    }
  }

  private func inspected(_ device: RecordedDevice) async throws -> Set<[String]> {
    let lab = try await FakeBlueZ.start(adapters: 1)
    let replayed = try await lab.replay(device)
    let sections = try await inspected(replayed.address, in: lab)
    try await lab.stop()
    return sections
  }

  private func inspected(_ address: BluetoothAddress, in lab: FakeBlueZ) async throws -> Set<[String]> {
    let adapter = try await lab.adapter(0)
    defer { adapter.session.close() }
    let inspector = Inspector(
      adapter: adapter, address: address, wait: .seconds(60), timeout: .seconds(60), readsValues: true,
      progress: { _ in })
    return Inspection.sections(try await inspector.inspect().tree { text, _ in text })
  }

  private func expected(_ name: String) throws -> Set<[String]> {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../BtsnoopTests/Recordings/\(name).txt")
    return Inspection.sections(try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n"))
  }
}

extension Inspection {
  /// The lines of each service, without handles.
  fileprivate static func sections(_ lines: [String]) -> Set<[String]> {
    Set(lines.map { $0.replacing(#/  #[0-9a-f]{4}/#, with: "") }.split(separator: "").map(Array.init))
  }
}
