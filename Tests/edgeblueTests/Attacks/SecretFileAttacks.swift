import DBusTesting
import Foundation
import SystemTesting
import Testing

@testable import edgeblue

/// Files with secrets that every user of the host can read, and several places that have a secret at once.
@Suite(
  "Files with secrets",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct SecretFileAttacks {
  private let folder = FileManager.default.temporaryDirectory.path + "/edgeblue-secret-\(UUID().uuidString.prefix(8))"

  /// Commands that need a secret, whose file is appended.
  private static let commands: [Secret: [String]] = [
    .registrationToken: [
      "agent", "--coordinator", "http://127.0.0.1:9", "--test-coordinator", "--registration-token-file",
    ],
    .meshToken: ["agent", "--coordinator", "http://127.0.0.1:9", "--test-coordinator", "--mesh-token-file"],
    .engineKey: ["doctor", "--engine", "openai", "--engine-url", "http://127.0.0.1:9", "--engine-key-file"],
    .uploadToken: ["uploads", "run", "--token-service", "http://127.0.0.1:9", "--token-file"],
    .s3: ["uploads", "run", "--once", "--endpoint", "http://127.0.0.1:9", "--credentials"],
    .speedTestKeys: ["speedtest", "--no-store", "--server", "127.0.0.1:9", "--key-file"],
  ]

  /// Starts a command with a secret in a file of a mode, and returns what it logs until it warns or ends.
  private func logged(_ secret: Secret, mode: Int, isCredential: Bool, _ bus: PrivateBus) async throws -> String {
    let path = folder + "/" + secret.name
    let text = secret == .s3 ? "[default]\naws_access_key_id = a\naws_secret_access_key = b\n" : "MARKED\n"
    try Data(text.utf8).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    var words = try #require(Self.commands[secret])
    if isCredential { words.removeLast() } else { words.append(path) }
    if words[0] == "agent" { words += ["--bus", bus.address] }
    if ["agent", "uploads", "doctor"].contains(words[0]) { words += ["--state", folder + "/state"] }
    var environment = ["HOME": folder, "DBUS_SYSTEM_BUS_ADDRESS": bus.address]
    if isCredential { environment["CREDENTIALS_DIRECTORY"] = folder }
    let process = try ChildProcess(program, words, environment: environment, errors: .kept)
    defer { process.kill() }
    // Two run on: an agent, and a queue, which then says that the service of credentials does not answer.
    var log = ""
    if words[0] == "agent" {
      _ = try await process.firstLine()
      process.signal(SIGTERM)
    }
    if secret == .uploadToken {
      while !log.contains("credentials not fetched"), case let bytes = read(process.errors), !bytes.isEmpty {
        log += String(decoding: bytes, as: UTF8.self)
      }
      process.signal(SIGTERM)
    }
    let outcome = await process.outcome()
    #expect(!(log + outcome.output + outcome.errors).contains("MARKED"))
    return log + outcome.errors
  }

  @Test("A command reports the file of a secret that every user can read, and no other", arguments: Secret.all)
  func openFilesAreReported(secret: Secret) async throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: folder) } }
    let bus = try PrivateBus()
    for isCredential in [false, true] {
      let open = try await logged(secret, mode: 0o644, isCredential: isCredential, bus)
      #expect(open.contains("other users can read a secret"), "\(open)")
      #expect(open.contains("\(folder)/\(secret.name)"), "\(open)")
      let closed = try await logged(secret, mode: 0o600, isCredential: isCredential, bus)
      #expect(!closed.contains("other users can read"), "\(closed)")
    }
  }

  @Test("The file of AWS's tools that every user can read is reported") func sharedFilesAreReported() async throws {
    try FileManager.default.createDirectory(atPath: folder + "/.aws", withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: folder) } }
    let path = folder + "/.aws/credentials"
    try Data("[default]\naws_access_key_id = a\naws_secret_access_key = b\n".utf8).write(to: URL(filePath: path))
    for (mode, isReported) in [(0o644, true), (0o600, false)] {
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
      let command = try ChildProcess(
        program, ["uploads", "run", "--once", "--endpoint", "http://127.0.0.1:9", "--state", folder + "/state"],
        environment: ["HOME": folder], errors: .kept)
      let errors = await command.outcome().errors
      #expect(errors.contains("other users can read a secret") == isReported, "\(errors)")
    }
  }

  /// Servers whose secret is the private key of their certificate.
  @Test(
    "A server reports the private key that every user can read, and no other",
    .enabled(if: ChildProcess.path(of: "openssl") != nil, "needs openssl"),
    arguments: [
      ["messages", "collect", "--to", "FOLDER/collected", "--key"],
      ["speedtest", "serve", "--open", "--certificate-key"],
      [
        "coverage", "serve", "--ping-host", "h", "--key-file", "FOLDER/server.key", "--state", "FOLDER/state",
        "--certificate-key",
      ],
    ])
  func openKeysAreReported(words: [String]) async throws {
    let authority = try await TestAuthority()
    let files = try await authority.issue(to: "DNS:localhost")
    let folder = URL(filePath: files.key).deletingLastPathComponent().path
    for mode in [0o644, 0o600] {
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: files.key)
      let server = try ChildProcess(
        program,
        words.map { $0.replacing("FOLDER", with: folder) } + [files.key, "--certificate", files.chain, "--port", "0"],
        errors: .kept)
      defer { server.kill() }
      _ = try await server.firstLine()
      server.signal(SIGTERM)
      let log = await server.outcome().errors
      #expect(log.contains("other users can read a secret") == (mode == 0o644), "\(log)")
      #expect(log.contains(files.key) == (mode == 0o644), "\(log)")
    }
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../../.build/debug/edgeblue").standardized.path
