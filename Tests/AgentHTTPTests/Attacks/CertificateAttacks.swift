import Agent
import AgentHTTP
import DBusTesting
import Foundation
import SystemTesting
import Testing

/// Servers that pose as a coordinator, with certificates of an authority that the user trusts.
@Suite(
  "Certificates that are not a coordinator's",
  .enabled(if: ChildProcess.path(of: "openssl") != nil, "needs openssl"), .timeLimit(.minutes(5)))
struct CertificateAttacks {
  @Test(
    "A certificate for another host name and one that has expired end the connection before the request",
    arguments: [("DNS:coordinator.example", 2, "one for another host name"), ("DNS:localhost", -1, "out of date")])
  func requestsAreNotSent(name: String, days: Int, reason: String) async throws {
    let authority = try await TestAuthority()
    let server = try await authority.server(named: name, days: days)
    defer { server.process.kill() }
    let transport = try HTTPTransport(
      url: "https://localhost:\(server.port)", certificates: authority.certificate)
    let error = await #expect(throws: CoordinatorTransportError.self) {
      _ = try await transport.post("/heartbeat", headers: [("x-mesh-token", "t")], body: Data("{}".utf8))
    }
    #expect(error?.isUntrusted == true, "\(error as Any)")
    #expect(error?.mayHaveArrived == false, "\(error as Any)")
    #expect(error?.description.contains(reason) == true, "\(error as Any)")
  }

  /// The authority of a coordinator's certificate.
  enum Issuer: CaseIterable {
    case option, system, neither
  }

  @Test(
    "An agent trusts the certificates of --coordinator-ca and of the system, and no others",
    .enabled(if: MountedCommand.isPermitted, "needs root"),
    .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
    .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
    arguments: Issuer.allCases)
  func ownAndSystemCertificates(issuer: Issuer) async throws {
    let option = try await TestAuthority()
    let system = try await TestAuthority()
    try FileManager.default.copyItem(atPath: system.certificate, toPath: system.folder + "/ca-certificates.crt")
    let authority = issuer == .option ? option : issuer == .system ? system : try await TestAuthority()
    let certificate = try await authority.issue(to: "DNS:localhost")
    let bus = try PrivateBus()
    let state = try Folder()
    try await TestCoordinator.run(certificate: certificate) { coordinator in
      let command = MountedCommand(
        program,
        [
          "agent", "--state", state.path, "--bus", bus.address, "--coordinator", coordinator.address,
          "--coordinator-ca", option.certificate, "--test-coordinator",
        ], seeing: system.folder, at: "/etc/ssl/certs")
      let agent = try ChildProcess(
        command.program, command.arguments,
        environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address, "HOME": state.path, "PATH": "/usr/bin:/bin"],
        errors: .discarded)
      defer { agent.kill() }
      _ = try await agent.firstLine()
      #expect(try await edgeblue("mode", "on", at: bus).status == 0)
      if issuer == .neither {
        try await eventually { try await edgeblue("status", "--json", at: bus).output.contains("cannot be trusted") }
        #expect(coordinator.registry.seen.isEmpty)
      } else {
        try await eventually { !coordinator.registry.seen.isEmpty }
      }
    }
    withExtendedLifetime(authority) {}
  }

  private func edgeblue(_ words: String..., at bus: PrivateBus) async throws -> (status: Int32, output: String) {
    let outcome = await (try ChildProcess(program, words + ["--bus", bus.address], errors: .discarded)).outcome()
    return (outcome.status, outcome.output)
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../../.build/debug/edgeblue").standardized.path
