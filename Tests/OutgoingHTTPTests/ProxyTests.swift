import AsyncHTTPClient
import DBusTesting
import Foundation
import IncomingHTTP
import NIOCore
import SystemTesting
import Testing

@testable import OutgoingHTTP

@Suite("Requests through a proxy", .timeLimit(.minutes(5))) struct ProxyTests {
  private func status(_ url: String, _ proxies: ProxySettings, certificate: String? = nil) async throws -> UInt {
    var connections = OutgoingHTTPClient.Connections()
    connections.proxies = proxies
    let outgoing = try OutgoingHTTPClient(
      connectTimeout: .seconds(20), certificates: certificate, connections: connections)
    return try await outgoing.execute(HTTPClientRequest(url: url), timeout: .seconds(30)).status.code
  }

  @Test(
    "TLS goes through the proxy to the server, and this host is reached directly",
    .enabled(if: ChildProcess.path(of: "openssl") != nil, "needs openssl"),
    arguments: ["http://ada:secret@", "socks5://"])
  func requestsGoThrough(scheme: String) async throws {
    try await TLSServer.run(ServerTLS.configuration) { port, certificate in
      let proxy = try ConnectProxy(["store.example:443": port])
      defer { proxy.stop() }
      let settings = ProxySettings(["HTTPS_PROXY": "\(scheme)127.0.0.1:\(proxy.port)"])
      #expect(try await status("https://store.example/", settings, certificate: certificate) == 204)
      #expect(proxy.targets == ["store.example:443"])
      let login = "proxy-authorization: basic ywrhonnly3jlda=="
      #expect(proxy.seen[0].lowercased().contains(login) == scheme.contains("ada"))
      #expect(proxy.seen[0].hasSuffix(" SOCKS") == scheme.hasPrefix("socks5"))
      #expect(try await status("https://localhost:\(port)/", settings, certificate: certificate) == 204)
      #expect(proxy.seen.count == 1)
    }
  }

  @Test("A proxy that does not respond is named, and not the server", arguments: ["http", "socks5"])
  func anAbsentProxyIsNamed(scheme: String) async throws {
    let settings = ProxySettings(["HTTPS_PROXY": "\(scheme)://127.0.0.1:1"])
    let error = await #expect(throws: (any Error).self) { try await status("https://store.example/", settings) }
    let expected = ConnectionFailure.noProxy("the proxy \(scheme)://127.0.0.1:1 does not respond")
    #expect(error.map { ConnectionFailure($0) } == expected)
  }

  @Test("A proxy that does not connect is an error of its own") func refusalsHaveAName() async throws {
    let proxy = try ConnectProxy()
    defer { proxy.stop() }
    let settings = ProxySettings(["HTTPS_PROXY": "http://ada:MARKED@127.0.0.1:\(proxy.port)"])
    let error = await #expect(throws: (any Error).self) { try await status("https://store.example/", settings) }
    guard let error, case .noProxy(let reason) = ConnectionFailure(error) else {
      Issue.record("not a failure of the proxy: \(String(describing: error))")
      return
    }
    #expect(reason == "the proxy http://127.0.0.1:\(proxy.port) does not connect, or is no proxy of this kind")
    // The password, and `ada:MARKED` as the header has it.
    for text in ["\(error)", String(reflecting: error), "\(ConnectionFailure(error))"] {
      #expect(!text.contains("MARKED"), "\(text)")
      #expect(!text.contains("YWRhOk1BUktFRA=="), "\(text)")
    }
    let invalid = await #expect(throws: ProxySettings.InvalidProxy.self) {
      try await status("https://store.example/", ProxySettings(["ALL_PROXY": "nonsense://x"]))
    }
    #expect(invalid?.variable == "ALL_PROXY")
  }
}

/// The command, with the variables of a proxy.
@Suite(
  "The command behind a proxy",
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct ProxyProgramTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "proxy-\(UUID().uuidString)").path

  /// Makes the folder, with credentials of S3.
  private func makeFolder() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data("[default]\naws_access_key_id = a\naws_secret_access_key = b\n".utf8)
      .write(to: URL(filePath: folder + "/s3"))
  }

  /// Runs a command behind a proxy, to its end or until the proxy was asked for a host.
  /// - Parameters:
  ///   - proxies: Further variables that name the proxy.
  ///   - prepare: What is done beside the command before the proxy is watched: the command does not end before.
  private func run(
    _ arguments: [String], until target: String? = nil, _ more: [String: String] = [:], proxies: [String] = [],
    prepare: () async throws -> Void = {}
  ) async throws -> ConnectProxy {
    try makeFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let proxy = try ConnectProxy()
    defer { proxy.stop() }
    var environment = ["HOME": folder, "HTTPS_PROXY": "http://127.0.0.1:\(proxy.port)", "NO_PROXY": ".direct.invalid"]
    for name in proxies { environment[name] = environment["HTTPS_PROXY"] }
    environment.merge(more) { $1 }
    let process = try ChildProcess(
      program, arguments.map { $0.replacing("FOLDER", with: folder) }, environment: environment, output: .discarded,
      errors: .discarded)
    try await prepare()
    if let target {
      try await eventually("the proxy is asked for \(target)") { proxy.targets.contains(target) }
      process.kill()
    } else {
      _ = await process.outcome()
    }
    return proxy
  }

  /// Runs a command to its end, or until the proxy was asked for a host, and returns the hosts that it was asked for.
  private func targets(_ arguments: [String], until target: String? = nil) async throws -> [String] {
    try await run(arguments, until: target).targets
  }

  @Test("An engine is reached through the proxy, unless NO_PROXY names its host") func engines() async throws {
    let doctor = ["doctor", "--engine", "openai", "--engine-url"]
    #expect(try await targets(doctor + ["https://engine.invalid"]).contains("engine.invalid:443"))
    #expect(try await targets(doctor + ["https://engine.direct.invalid"]).isEmpty)
    #expect(try await targets(doctor + ["https://127.0.0.1:9"]).isEmpty)
  }

  @Test("A central of another host is reached through the proxy") func centrals() async throws {
    let ask = ["ask", "hello", "--timeout", "5", "--central-url"]
    #expect(try await targets(ask + ["https://central.invalid"]).contains("central.invalid:443"))
    #expect(try await targets(ask + ["https://127.0.0.1:9"]).isEmpty)
  }

  @Test("An S3 server is reached through the proxy") func objectStores() async throws {
    let upload = [
      "upload", "FOLDER/s3", "--endpoint", "https://store.invalid:8333", "--bucket", "bucket", "--key", "k",
      "--credentials", "FOLDER/s3", "--state", "FOLDER/state",
    ]
    #expect(try await targets(upload, until: "store.invalid:8333").contains("store.invalid:8333"))
  }

  @Test("A token service is reached through the proxy") func tokenServices() async throws {
    let upload = [
      "upload", "FOLDER/s3", "--endpoint", "https://store.invalid", "--bucket", "bucket", "--key", "k",
      "--token-service", "https://tokens.invalid:8444/v1/", "--token-file", "FOLDER/s3", "--state", "FOLDER/state",
    ]
    #expect(try await targets(upload, until: "tokens.invalid:8444").contains("tokens.invalid:8444"))
  }

  /// A proxy that connects nowhere, and one with TLS, which is none that the variable may name.
  @Test("No command prints or stores the password of a proxy", arguments: ["http", "https"])
  func passwordsAreNotWritten(scheme: String) async throws {
    try makeFolder()
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: folder) } }
    let proxy = try ConnectProxy()
    defer { proxy.stop() }
    var said = ""
    for words in [
      ["doctor", "--engine", "openai", "--engine-url", "https://engine.invalid", "--log-level", "trace"],
      ["ask", "hello", "--central-url", "https://central.invalid", "--log-level", "trace"],
      [
        "upload", "FOLDER/s3", "--endpoint", "https://store.invalid", "--bucket", "bucket", "--credentials",
        "FOLDER/s3", "--state", "FOLDER/state", "--wait", "2", "--log-level", "trace",
      ],
    ] {
      let process = try ChildProcess(
        program, words.map { $0.replacing("FOLDER", with: folder) },
        environment: ["HOME": folder, "HTTPS_PROXY": "\(scheme)://ada:MARKED@127.0.0.1:\(proxy.port)"], errors: .kept)
      let outcome = await process.outcome()
      said += outcome.output + outcome.errors
    }
    #expect(said.contains("prox"), "\(said)")
    for path in try FileManager.default.subpathsOfDirectory(atPath: folder) {
      said += String(decoding: FileManager.default.contents(atPath: "\(folder)/\(path)") ?? Data(), as: UTF8.self)
    }
    #expect(said.contains("store.invalid"))
    // The password, and `ada:MARKED` as the header has it.
    #expect(said.matches(of: /MARKED|YWRhOk1BUktFRA/).isEmpty, "\(said)")
    #expect((proxy.connections > 0) == (scheme == "http"))
  }

  /// The one has `--proxy`, and the other measures the line. `path` needs a route: see `ProbeProgramTests`.
  @Test(
    "The commands that no proxy may stand in between ask for none",
    arguments: [
      [
        "messages", "setup", "--state", "FOLDER/state", "--server", "https://collector.invalid", "--keys",
        "https://keys.invalid/keys.json", "--root", String(repeating: "A", count: 43) + "=", "--passphrase-fd", "0",
      ],
      ["speedtest", "--no-store", "--server", "speed.invalid", "--seconds", "1"],
      ["speedtest", "--no-store", "--server", "speed.invalid", "--seconds", "1", "--http", "--tls"],
    ])
  func directCommands(_ words: [String]) async throws {
    let all = ["https_proxy", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
    #expect(try await run(words, proxies: all).connections == 0)
  }

  @Test(
    "A coordinator is reached through the proxy",
    .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"))
  func coordinators() async throws {
    let bus = try PrivateBus()
    let proxy = try await run(
      [
        "agent", "--bus", bus.address, "--state", "FOLDER/state", "--engine", "ollama", "--coordinator",
        "https://coordinator.invalid",
      ],
      until: "coordinator.invalid:443", ["DBUS_SYSTEM_BUS_ADDRESS": bus.address]
    ) {
      try await eventually("the agent is on") {
        let mode = try ChildProcess(
          program, ["mode", "on", "--bus", bus.address], output: .discarded, errors: .discarded)
        return await mode.outcome().status == 0
      }
    }
    #expect(proxy.targets.contains("coordinator.invalid:443"))
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path
