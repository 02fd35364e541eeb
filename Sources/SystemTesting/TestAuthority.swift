import Foundation
internal import Glibc

/// A certificate authority of a test, and servers of OpenSSL with its certificates.
///
/// It needs the program `openssl`, and its folder is removed with it.
package final class TestAuthority: Sendable {
  /// The path of a PEM file with the certificate of the authority.
  package let certificate: String
  /// The folder of the files, which is removed with the authority.
  package let folder: String

  /// Creates an authority that is valid for a few days.
  package init() async throws {
    folder = NSTemporaryDirectory() + "edgeblue-authority-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    certificate = folder + "/authority.pem"
    try await openssl(
      ["req", "-x509", "-days", "3", "-subj", "/CN=authority", "-out", certificate] + newKey("authority"))
  }

  deinit {
    // A folder left in the temporary directory does no harm.
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// Makes a certificate, and returns the paths of PEM files with it and with its private key.
  /// - Parameters:
  ///   - name: The name or address of the server, such as `DNS:localhost` or `IP:127.0.0.1`.
  ///   - days: The days until it expires; negative for one that has expired.
  package func issue(to name: String, days: Int = 2) async throws -> (chain: String, key: String) {
    let request = folder + "/request.pem"
    let issued = folder + "/server.pem"
    try await openssl(
      ["req", "-subj", "/CN=\(name)", "-addext", "subjectAltName=\(name)", "-out", request] + newKey("server"))
    try await openssl([
      "x509", "-req", "-in", request, "-CA", certificate, "-CAkey", "\(folder)/authority.key", "-CAcreateserial",
      "-days", "\(days)", "-copy_extensions", "copy", "-out", issued,
    ])
    return (issued, folder + "/server.key")
  }

  /// Starts a server on a port of 127.0.0.1, which answers `GET` and nothing else.
  /// - Parameters:
  ///   - name: The name or address in its certificate; see ``issue(to:days:)``.
  ///   - days: The days until its certificate expires.
  package func server(named name: String, days: Int = 2) async throws -> (process: ChildProcess, port: Int) {
    let (chain, key) = try await issue(to: name, days: days)
    let process = try ChildProcess(
      "openssl", ["s_server", "-accept", "127.0.0.1:0", "-cert", chain, "-key", key, "-www"], errors: .discarded)
    while true {
      let line = try await process.firstLine()
      guard line.hasPrefix("ACCEPT "), let port = line.split(separator: ":").last.flatMap({ Int($0) }) else { continue }
      return (process, port)
    }
  }

  private func newKey(_ name: String) -> [String] {
    ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "\(folder)/\(name).key"]
  }

  private func openssl(_ words: [String]) async throws {
    let outcome = await (try ChildProcess("openssl", words, output: .discarded, errors: .kept)).outcome()
    guard outcome.status == 0 else { throw MissingProgram("openssl (\(outcome.errors.suffix(200)))") }
  }
}
