import Foundation
import SystemTesting
import Testing

/// The network options of `edgeblue messages setup` as it was built: a sender without its proxy would show its address.
@Suite(
  "The network options of the program that sends",
  .enabled(
    if: FileManager.default.isExecutableFile(atPath: ObservedProgram.edgeblue), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct ProgramNetworkTests {
  private let program = ObservedProgram.edgeblue
  private let folder = FileManager.default.temporaryDirectory.path + "/edgeblue-network-\(UUID().uuidString.prefix(8))"

  @Test("With --proxy the keys and the messages go through the proxy, which resolves the name") func theProxy()
    async throws
  {
    let root = try await makeKeys()
    let keys = try [UInt8](Data(contentsOf: URL(filePath: folder + "/keys/keys.json")))
    let proxy = try RawServer { (_: Int, bytes: [UInt8]) -> [UInt8]? in
      if bytes.count == 3 { return [5, 0] }
      // The greeting, then the command, a name of 16 characters and a port: 3 and 23 bytes.
      if bytes.count <= 26 { return bytes.count == 26 ? [5, 0, 0, 1, 0, 0, 0, 0, 0, 0] : nil }
      let request = Array(bytes[26...])
      guard String(decoding: request, as: UTF8.self).hasPrefix("GET") else {
        return RawServer.whenWhole(TransportTests.accepted)(0, request)
      }
      return Array("HTTP/1.1 200 OK\r\nContent-Length: \(keys.count)\r\n\r\n".utf8) + keys
    }
    try await setUp(
      "--server http://abcdefghij.onion --keys http://abcdefghij.onion/keys.json --root \(root) "
        + "--proxy socks5://127.0.0.1:\(proxy.port)")
    #expect(proxy.connections.count == 1)
    try await send {
      proxy.connections.count { String(decoding: $0.dropFirst(26), as: UTF8.self).hasPrefix("POST /user/messages") } > 1
    }
    for connection in proxy.connections {
      #expect(Array(connection[..<8]) == [5, 1, 0, 5, 1, 0, 3, 16])
      #expect(String(decoding: connection[8..<24], as: UTF8.self) == "abcdefghij.onion")
    }
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test("Without --proxy the variables of a proxy have no effect", arguments: ["http", "socks5"])
  func theVariables(scheme: String) async throws {
    let root = try await makeKeys()
    let proxy = try RawServer { _, _ in [] }
    let variables = ["https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY"]
      .map { "\($0)=\(scheme)://127.0.0.1:\(proxy.port)" }.joined(separator: " ")
    try await setUp("--server https://collector.invalid --keys \(folder)/keys/keys.json --root \(root)", variables)
    try await send(variables) { hasFailed }
    #expect(proxy.connections.isEmpty)
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test("With --resolver the name of the server is asked for over HTTPS, and the address in its answer is used")
  func theResolver() async throws {
    let root = try await makeKeys()
    let resolver = try RawServer { _, bytes in
      guard bytes.count > 100, bytes.suffix(5) == [0, 0, 1, 0, 1] else { return nil }
      let answer = ResolverTests.answer(1, [127, 0, 0, 1])
      return Array("HTTP/1.1 200 OK\r\nContent-Length: \(answer.count)\r\n\r\n".utf8) + answer
    }
    // Nothing but TLS is permitted to a host of the network; the first bytes show who was meant.
    let server = try RawServer { _, _ in [] }
    try await setUp(
      "--server https://www.example.com:\(server.port) --keys \(folder)/keys/keys.json --root \(root) "
        + "--resolver http://127.0.0.1:\(resolver.port)/dns-query")
    try await send { !server.connections.isEmpty }
    let question = try #require(resolver.connections.first)
    #expect(String(decoding: question, as: UTF8.self).hasPrefix("POST /dns-query HTTP/1.1"))
    #expect(server.connections.contains { String(decoding: $0, as: UTF8.self).contains("www.example.com") })
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test(
    "With --ca a server with a certificate in the file is trusted, and no other one",
    .enabled(if: ChildProcess.path(of: "openssl") != nil, "needs openssl"))
  func theCertificates() async throws {
    let root = try await makeKeys()
    for name in ["own", "other"] { try await makeCertificate(name) }
    let collector = try ChildProcess(
      program,
      [
        "messages", "collect", "--to", "\(folder)/collected", "--port", "0", "--json", "--certificate",
        "\(folder)/own.pem", "--key", "\(folder)/own.key",
      ])
    let line = try await collector.firstLine()
    let port = try #require(try line.firstMatch(of: Regex(#""port":(\d+)"#, as: (Substring, Substring).self))?.1)
    let options = "--server https://localhost:\(port) --keys \(folder)/keys/keys.json --root \(root)"
    try await setUp("\(options) --ca \(folder)/own.pem")
    try await send { try collected() >= 2 * 773 }
    let count = try collected()
    try await setUp("\(options) --ca \(folder)/other.pem")
    // The failsafe makes up for the run that is owed, which fails.
    try await send { hasFailed }
    #expect(try collected() == count)
    collector.signal(SIGTERM)
    #expect(await collector.wait() == 0)
    try FileManager.default.removeItem(atPath: folder)
  }

  /// Whether the sender has reported an attempt that failed; its output is there once it has begun.
  private var hasFailed: Bool {
    String(decoding: FileManager.default.contents(atPath: folder + "/output") ?? Data(), as: UTF8.self)
      .contains("\"failed\"")
  }

  private func collected() throws -> Int {
    let collected = folder + "/collected/"
    return try FileManager.default.contentsOfDirectory(atPath: collected).filter { $0.hasPrefix("messages-") }
      .reduce(0) { $0 + ((try FileManager.default.attributesOfItem(atPath: collected + $1))[.size] as? Int ?? 0) }
  }

  /// Makes keys, and returns the root key.
  private func makeKeys() async throws -> String {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try "correct horse".write(toFile: "\(folder)/pass", atomically: true, encoding: .utf8)
    let made = try await shell("\(program) messages keys make \(folder)/keys --recipient desk")
    return String(try #require(made.split(separator: "\n").last))
  }

  private func makeCertificate(_ name: String) async throws {
    _ = try await shell(
      """
      openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost -keyout \(folder)/\(name).key -out \(folder)/\(name).pem 2>&1
      """)
  }

  /// Sets up the sender, or replaces its settings.
  private func setUp(_ options: String, _ variables: String = "") async throws {
    _ = try await shell(
      "\(variables) \(program) messages setup --state \(folder)/state \(options) --passphrase-fd 3 3<\(folder)/pass")
  }

  /// Sends on clocks that run an hour in a second, until a condition holds.
  private func send(_ variables: String = "", until condition: () throws -> Bool) async throws {
    let sender = try ChildProcess(
      "sh",
      [
        "-c",
        "\(variables) exec \(program) messages run --state \(folder)/state --pace 3600 --json >\(folder)/output 2>&1",
      ])
    try await eventually("a run", condition)
    sender.signal(SIGTERM)
    #expect(await sender.outcome().status == 0)
  }

  private func shell(_ script: String) async throws -> String {
    let outcome = await (try ChildProcess("sh", ["-c", script], errors: .kept)).outcome()
    try #require(outcome.status == 0, "\(script): \(outcome.errors)")
    return outcome.output
  }
}
