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

/// Ports of 127.0.0.1.
enum LoopbackPort {
  /// Returns `true` if a server listens at the port.
  static func isHeard(_ port: UInt16) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    return withAddress(port) { connect(descriptor, $0, $1) } == 0
  }

  /// Returns a port at which no server listens.
  static func free() throws -> UInt16 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    guard withAddress(0, { bind(descriptor, $0, $1) }) == 0 else { throw POSIXError(.EADDRINUSE) }
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutableBytes(of: &address) { bytes in
      _ = getsockname(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
    }
    return UInt16(bigEndian: address.sin_port)
  }

  private static func withAddress(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }
}
