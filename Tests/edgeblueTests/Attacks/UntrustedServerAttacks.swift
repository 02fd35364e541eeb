import Foundation
import SystemTesting
import Testing

/// A server with a certificate of an authority that is not the system's, against each client that the command has.
@Suite(
  "Servers that nobody vouches for",
  .enabled(if: ChildProcess.path(of: "openssl") != nil, "needs openssl"), .timeLimit(.minutes(5)))
struct UntrustedServerAttacks {
  @Test(
    "No client completes a handshake with such a server, but the speed test of any certificate",
    arguments: OldTLSAttacks.clients)
  func handshakesFail(client: OldTLSAttacks.Client) async throws {
    let authority = try await TestAuthority()
    let files = try await authority.issue(to: "DNS:localhost")
    let server = try ChildProcess(
      "sh",
      [
        "-c", #"exec openssl s_server -accept 127.0.0.1:0 -naccept 1 -cert "$0" -key "$1" 2>&1"#, files.chain,
        files.key,
      ], hasInput: true)
    // It ends with its input.
    defer { server.kill() }
    var line = ""
    while !line.hasPrefix("ACCEPT ") { line = try await server.firstLine() }
    let port = try #require(line.split(separator: ":").last.flatMap { Int($0) })
    let request = Task { try await client.request("https://localhost:\(port)") }
    // What it prints after a handshake that failed, and after one that did not.
    while line != "ERROR", !line.hasPrefix("CIPHER is ") { line = try await server.firstLine() }
    request.cancel()
    _ = await request.result
    #expect((line == "ERROR") == !client.testDescription.hasSuffix("of any certificate"), "\(line)")
  }
}
