import BlueZ
import BlueZTesting
import EdgeCoder
import Foundation
import SystemTesting
import Testing

@testable import edgeblue

@Suite(
  "Bonds made without the command", .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct PairAdoptTests {
  @Test("A bond is not used until a user adopts it, and doctor says how", arguments: BondStore.PeerRole.allCases)
  func adoption(role: BondStore.PeerRole) async throws {
    let host = try await BondedHost.start()
    let before = try await host.run("doctor")
    #expect(before.output.contains("is bonded, but not for EdgeBlue: it has no access"))
    #expect(before.output.contains("edgeblue pair adopt \(host.peer) --as central"))
    #expect(before.output.contains("edgeblue pair remove \(host.peer)"))
    #expect(try await host.run("pair", "list").output.contains(#""roles":[]"#))
    #expect(!FileManager.default.fileExists(atPath: host.folder), "looking creates nothing")

    let adopted = try await host.run("pair", "adopt", host.peer, "--as", role.rawValue)
    #expect(adopted.status == 0)
    #expect(adopted.output.contains(#""role":"\#(role.rawValue)""#))
    #expect(try await host.run("pair", "list").output.contains(#""roles":["\#(role.rawValue)"]"#))
    #expect(try await !host.run("doctor").output.contains("edgeblue pair adopt \(host.peer)"))
    let bonds = try host.bonds.bonds()
    #expect(bonds.map(\.role) == [role])
    #expect(bonds.map(\.peer.description) == [host.peer])
    #expect(bonds.map(\.adapter) == [host.lab.adapters[0].address])
    try await host.stop()
  }

  @Test("A device that is not bonded cannot be adopted") func strangersStayOutside() async throws {
    let host = try await BondedHost.start()
    let refused = try await host.run("pair", "adopt", "00:AA:01:00:00:99", "--as", "central")
    #expect(refused.status == ExitStatus.unavailable.rawValue)
    #expect(refused.errors.contains("00:AA:01:00:00:99 is not bonded"))
    #expect(try host.bonds.bonds().isEmpty)
    let wrong = try await host.run("pair", "adopt", host.peer, "--as", "wearable")
    #expect(wrong.status != 0)
    #expect(try host.bonds.bonds().isEmpty)
    try await host.stop()
  }

  @Test("A damaged list of bonds fails doctor's check, and adopting does not replace it")
  func aDamagedListStays() async throws {
    let host = try await BondedHost.start()
    try FileManager.default.createDirectory(atPath: host.folder, withIntermediateDirectories: true)
    let file = URL(filePath: host.folder + "/bonds.json")
    let damaged = Data("[{".utf8)
    try damaged.write(to: file)
    let found = try await host.run("doctor")
    #expect(found.status == ExitStatus.unavailable.rawValue)
    #expect(found.output.contains("the list of bonds cannot be read"))
    #expect(found.output.contains("remove the file, and pair again or adopt the bonds"))
    #expect(try await host.run("pair", "adopt", host.peer, "--as", "central").status != 0)
    #expect(try Data(contentsOf: file) == damaged)
    try await host.stop()
  }
}

/// A fake BlueZ with a bond that another pairing agent made, and the command on its bus.
private struct BondedHost {
  let lab: FakeBlueZ
  /// The state folder of the command, which does not exist yet.
  let folder = FileManager.default.temporaryDirectory.appending(path: "adopt-\(UUID().uuidString.prefix(8))").path

  var peer: String { lab.adapters[1].address.description }
  var bonds: BondStore { BondStore(folder: folder) }

  static func start() async throws -> BondedHost {
    let host = BondedHost(lab: try await FakeBlueZ.start(adapters: 2))
    let near = try await host.lab.adapter(0)
    let far = try await host.lab.adapter(1)
    let agents = [
      try await near.session.register(PairingAgent(authorizePairing: { _ in true })),
      try await far.session.register(PairingAgent(authorizePairing: { _ in true })),
    ]
    let windows = [
      try await near.openPairingWindow(for: .seconds(60)), try await far.openPairingWindow(for: .seconds(60)),
    ]
    try await far.withAdvertisement(.init(name: "Headphones")) { _ in
      try await near.find(far.address, timeout: .seconds(20)).pair()
    }
    for window in windows { try await window.close() }
    for agent in agents { try await agent.unregister() }
    return host
  }

  func run(_ words: String...) async throws -> (status: Int32, output: String, errors: String) {
    guard case .address(let address) = lab.bus else { throw MissingProgram("a message bus") }
    return try await ChildProcess(
      program, words + ["--json", "--state", folder],
      environment: ["DBUS_SYSTEM_BUS_ADDRESS": address, "PATH": "/usr/bin:/bin"], errors: .kept
    ).outcome()
  }

  func stop() async throws {
    try await lab.stop()
    if FileManager.default.fileExists(atPath: folder) { try FileManager.default.removeItem(atPath: folder) }
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path
