import Foundation
import SystemTesting
import Timing

/// Caddy, an independent web server, in front of another one: it serves TLS with certificates that it creates.
struct Caddy {
  let address: String
  /// What to trust, once it is up.
  let certificate: String
  private let process: ChildProcess

  init(before backend: String, folder: String) throws {
    let port = try LoopbackPort.free()
    address = "https://localhost:\(port)"
    certificate = folder + "/pki/authorities/local/root.crt"
    let configuration = """
      {
        admin off
        auto_https disable_redirects
        skip_install_trust
        storage file_system \(folder)
      }
      \(address) {
        bind 127.0.0.1
        tls internal
        reverse_proxy \(backend)
      }
      """
    try Data(configuration.utf8).write(to: URL(filePath: folder + "/Caddyfile"))
    let command = UnprivilegedCommand(
      "caddy", ["run", "--adapter", "caddyfile", "--config", folder + "/Caddyfile"], writing: [folder])
    process = try ChildProcess(
      command.program, command.arguments,
      environment: ["HOME": folder, "PATH": "/usr/bin:/bin"], output: .discarded, errors: .discarded)
  }

  /// Waits until the server listens and its certificate exists.
  func waitUntilUp() async throws {
    let port = UInt16(address.split(separator: ":").last ?? "") ?? 0
    while !FileManager.default.fileExists(atPath: certificate) || !LoopbackPort.isHeard(port) {
      try await Task.sleep(for: .milliseconds(50), clock: .steady)
    }
  }
}
