import AgentHTTP
import EdgeCoderHTTP
import Foundation
import MessageSending
import MessageSendingHTTP
import SpeedTest
import SpeedTestNIO
import Streams
import SystemTesting
import Testing
import Uploads
import UploadsHTTP

@testable import edgeblue

/// Servers and clients of TLS 1.1, whose handshakes rest on MD5 and SHA-1, against each that the command has.
@Suite("Peers of TLS 1.1", .timeLimit(.minutes(5))) struct OldTLSAttacks {
  /// A client of the command, and how it makes a request to a URL.
  struct Client: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var request: @Sendable (_ url: String) async throws -> Void

    init(_ name: String, _ request: @escaping @Sendable (String) async throws -> Void) {
      testDescription = name
      self.request = request
    }
  }

  static let clients = [
    Client("coordinator") {
      _ = try await HTTPTransport(url: $0).post("/heartbeat", headers: [], body: Data("{}".utf8))
    },
    Client("object store, and the service of credentials") { url in
      let authority = String(url.dropFirst("https://".count))
      _ = try await S3HTTPTransport().send(S3Request("GET", authority: authority), S3Progress())
    },
    Client("engine openai") { _ = await (try OpenAIEngine(url: $0)).modelState() },
    Client("engine ollama") { _ = await (try OllamaEngine(url: $0)).modelState() },
    Client("collector of messages") { try await HTTPMessageTransport($0).send(message) },
    Client("keys of recipients") { _ = try await KeysFetcher($0 + "/keys.json").fetch() },
    Client("resolver") {
      let options = HTTPMessageTransport.Options(resolver: $0 + "/dns-query")
      try await HTTPMessageTransport("https://collector.example", options: options).send(message)
    },
    Client("speed test") { try await measure($0, .tls(certificates: nil)) },
    Client("control server") { _ = try await ControlHTTPTransport().post($0 + "/settings", body: Data("{}".utf8)) },
    Client("speed test of any certificate") { try await measure($0, .unverifiedTLS) },
    Client("central") { _ = try await CentralClient(url: $0).isReachable() },
    Client("probe of the path") { _ = try await (try #require(HTTPProbe($0))).probe() },
  ]

  private static var message: SealedMessage {
    get throws { try SealedMessage(bytes: [UInt8](repeating: 7, count: SealedMessage.byteCount)) }
  }

  private static func measure(_ url: String, _ transport: SpeedTestTransport) async throws {
    var client = SpeedTestClient(host: "localhost", port: try #require(URL(string: url)?.port))
    client.transport = transport
    _ = try await client.run(try SpeedTestPlan(threads: 1, seconds: 1))
  }

  @Test("No client offers a server a version of TLS below 1.2", arguments: clients)
  func clientsOfferNewVersions(client: Client) async throws {
    let server = try HelloServer()
    defer { server.stop() }
    // On a machine that stands still, a client with a short timeout gives up before its first message: it asks again.
    let request = Task {
      while !Task.isCancelled { try? await client.request("https://localhost:\(server.port)") }
    }
    let hello = try #require(await server.hellos.first { _ in true })
    // The server has hung up: what the client makes of that is not the question.
    request.cancel()
    _ = await request.result
    let oldest = try #require(ClientHello.oldestVersion(in: hello), "not TLS: \(hello.prefix(16))")
    #expect(oldest >= 0x0303, "\(client.testDescription) offers \(String(oldest, radix: 16))")
  }

  @Test(
    "No server of the command accepts TLS 1.1, and each accepts TLS 1.2",
    .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
    .enabled(if: ChildProcess.path(of: "openssl") != nil, "needs openssl"),
    arguments: [
      ["messages", "collect", "--to", "FOLDER/collected", "--key"],
      ["speedtest", "serve", "--open", "--certificate-key"],
      [
        "coverage", "serve", "--ping-host", "h", "--key-file", "FOLDER/server.key", "--state", "FOLDER/state",
        "--certificate-key",
      ],
    ])
  func serversAcceptNewVersions(words: [String]) async throws {
    let authority = try await TestAuthority()
    let files = try await authority.issue(to: "DNS:localhost")
    let folder = URL(filePath: files.key).deletingLastPathComponent().path
    let server = try ChildProcess(
      program,
      words.map { $0.replacing("FOLDER", with: folder) }
        + [files.key, "--certificate", files.chain, "--port", "0", "--json"]
    )
    defer { server.kill() }
    let line = try JSONSerialization.jsonObject(with: Data(try await server.firstLine().utf8)) as? [String: Any]
    let port = try #require(line?["port"] as? Int)
    // A client that is willing to speak the old version, too.
    for (version, isAccepted) in [("-tls1_1", false), ("-tls1_2", true)] {
      let client = try ChildProcess(
        "openssl",
        [
          "s_client", "-connect", "127.0.0.1:\(port)", "-CAfile", authority.certificate, "-verify_return_error",
          version,
          "-cipher", "DEFAULT:@SECLEVEL=0",
        ], errors: .discarded)
      let outcome = await client.outcome()
      #expect((outcome.status == 0) == isAccepted, "\(version): \(outcome.output)")
    }
  }
}

/// A server that reads the first record of each connection, says that it knows no such version, and hangs up.
private final class HelloServer: Sendable {
  let port: Int
  let hellos: BoundedStream<[UInt8]>
  private let listener: Int32

  init() throws {
    let (hellos, source) = BoundedStream.make(of: [UInt8].self, limit: 4, policy: .dropNewest)
    self.hellos = hellos
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && getsockname(listener, $0, &length) == 0
      }
    }
    guard isBound, listen(listener, 8) == 0 else { throw POSIXError(.EADDRINUSE) }
    self.listener = listener
    port = Int(UInt16(bigEndian: address.sin_port))
    Thread.detachNewThread {
      while case let client = accept(listener, nil, nil), client >= 0 {
        source.yield(Self.record(from: client))
        // The alert protocol_version.
        let alert: [UInt8] = [21, 3, 1, 0, 2, 2, 70]
        _ = send(client, alert, alert.count, Int32(MSG_NOSIGNAL))
        close(client)
      }
      close(listener)
    }
  }

  func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

  /// Reads a record: five bytes, the last two of which are the length of the rest.
  private static func record(from client: Int32) -> [UInt8] {
    var record: [UInt8] = []
    var byte: UInt8 = 0
    var length = 5
    while record.count < length, recv(client, &byte, 1, 0) == 1 {
      record.append(byte)
      if record.count == 5 { length += Int(record[3]) << 8 + Int(record[4]) }
    }
    return record
  }
}

/// The first message of a client (RFC 8446, 4.1.2).
private enum ClientHello {
  /// Returns the oldest version that a record with the message offers; `nil` if it is none.
  static func oldestVersion(in record: [UInt8]) -> Int? {
    var rest = record[...]
    func number(_ bytes: Int) -> Int? {
      guard rest.count >= bytes else { return nil }
      defer { rest = rest.dropFirst(bytes) }
      return rest.prefix(bytes).reduce(0) { $0 << 8 + Int($1) }
    }
    /// Leaves out a field with its length in front.
    func skip(_ bytes: Int) {
      if let length = number(bytes) { rest = rest.dropFirst(length) }
    }
    // A handshake in a record, with its length, and the message with its own.
    guard number(1) == 22, number(2) != nil, number(2) != nil, number(1) == 1, number(3) != nil,
      let version = number(2)
    else { return nil }
    rest = rest.dropFirst(32)
    skip(1)
    skip(2)
    skip(1)
    guard number(2) != nil else { return version }
    while let kind = number(2), let length = number(2) {
      guard kind == 43 else {
        rest = rest.dropFirst(length)
        continue
      }
      // Numbers above that of TLS 1.3 are no versions, and test that a server ignores them.
      let count = (number(1) ?? 0) / 2
      return (0..<count).compactMap { _ in number(2) }.filter { $0 <= 0x0304 }.min()
    }
    return version
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../../.build/debug/edgeblue").standardized.path
