import Agent
import Foundation
import SystemTesting
import Testing

@testable import AgentHTTP

@Suite(
  "The traffic of an idle agent, over TLS", .enabled(if: ChildProcess.path(of: "openssl") != nil, "needs openssl"),
  .timeLimit(.minutes(5)))
struct TrafficTests {
  /// The bytes of TCP and IP for a packet and its acknowledgement, with time stamps.
  private static let packet = 104
  /// The packets that open and close a connection.
  private static let packetsPerConnection = 7
  /// The bytes of certificates of a public authority that this one's are shorter by.
  private static let certificates = 3000
  /// The bytes of the signatures of a heartbeat and a request for work, which a program that was just started leaves out.
  private static let signatures = 1000
  /// The heartbeats of a day, each with a request for work: `SparingTests` holds that there are no more.
  private static let perDay = 361

  /// After four minutes no server has kept the connection before: each heartbeat needs another one, with TLS. So does
  /// each start of the service, which begins with a heartbeat and a request for work.
  @Test("On a network to be spared, a day costs less than 5 MB") func aDay() async throws {
    let rounds = 6
    let authority = try await TestAuthority()
    let folder = try Folder()
    let state = try StateFolder(path: folder.path)
    defer { withExtendedLifetime((folder, authority)) {} }
    let certificate = try await authority.issue(to: "DNS:localhost")
    try await TestCoordinator.run(certificate: certificate) { coordinator in
      let relay = try CountingRelay(to: UInt16(coordinator.address.split(separator: ":").last ?? "") ?? 0)
      defer { relay.stop() }
      let registry = coordinator.registry
      var before = CountingRelay.Count()
      for round in 0...rounds {
        // The first one also registers.
        if round == 1 { before = relay.count }
        let runner = try Self.runner("https://localhost:\(relay.port)", authority.certificate, state)
        let running = Task { try await runner.run {} }
        await registry.until { seen in seen.count { $0.path == "/pull" } > round }
        running.cancel()
        _ = await running.result
      }
      // A machine that is too busy to answer within four minutes sends one more, which counts as a time of its own.
      let times = min(registry.count("/heartbeat"), registry.count("/pull")) - 1
      #expect(times >= rounds)
      let after = relay.count
      let connections = after.connections - before.connections
      #expect(connections >= rounds)
      let packets = after.pieces - before.pieces + connections * Self.packetsPerConnection
      let bytes = after.bytes - before.bytes + packets * Self.packet + connections * Self.certificates
      let perDay = (bytes / times + Self.signatures) * Self.perDay
      print("an idle agent on a network to be spared: \(perDay) bytes a day, \(perDay / Self.perDay) each time")
      #expect(perDay < 5_000_000)
      #expect(registry.faults == [])
    }
  }

  private static func runner(
    _ address: String, _ certificates: String, _ state: StateFolder
  ) throws -> CoordinatorRunner {
    let identity = try MachineIdentity.load(path: state.identity, hostName: "Test Board (4)")
    var options = CoordinatorRunner.Options()
    options.network.isSparing = { true }
    options.model = { CoordinatorModel(isReady: true, name: "llama3.2:3b", billionsOfParameters: 3.2) }
    return try CoordinatorRunner(
      transport: try HTTPTransport(url: address, certificates: certificates), signer: try Ed25519Signer(identity),
      identity: identity, folder: state, log: EventLog(path: nil), options: options)
  }
}
