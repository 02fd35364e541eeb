import ArgumentParser
import Foundation
import Testing

@testable import edgeblue

/// The places of secrets, and files that are none.
@Suite("Secrets from files, credentials and variables") struct SecretTests {
  /// Files in a folder that is removed at the end.
  private func withFiles(_ files: [String: String], _ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "secrets-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: folder) } }
    for (name, text) in files {
      let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
      #expect(
        FileManager.default.createFile(
          atPath: "\(folder)/\(name)", contents: Data(text.utf8), attributes: attributes))
    }
    try body(folder)
  }

  @Test("A file precedes a credential, and a credential a variable, for each secret", arguments: Secret.all)
  func filesPrecedeVariables(secret: Secret) throws {
    try withFiles(["named": "from-file\n", secret.name: "from-credential\r\nrest\n"]) { (folder: String) throws in
      let variable = secret.variable.map { [$0: "from-variable"] } ?? [:]
      let all = variable.merging(["CREDENTIALS_DIRECTORY": folder]) { $1 }
      #expect(secret.file(folder + "/named", all) == folder + "/named")
      #expect(secret.file(nil, all) == "\(folder)/\(secret.name)")
      #expect(try secret.value(folder + "/named", all) == "from-file")
      #expect(try secret.value(nil, all) == "from-credential")
      #expect(try secret.value(nil, variable) == (secret.variable == nil ? nil : "from-variable"))
      for other in Secret.all where other != secret {
        #expect(try other.value(nil, ["CREDENTIALS_DIRECTORY": folder]) == nil)
      }
      for (name, _) in variable { #expect(try secret.value(nil, [name: ""]) == nil) }
    }
  }

  @Test(
    "A file that contains no usable secret is refused without its contents",
    arguments: [
      "", "\n", "MARKED two", "MARKED\u{1}", "MÄRKED-MARKED", String(repeating: "MARKED", count: 3000),
    ])
  func otherFilesAreRefused(text: String) throws {
    try withFiles(["secret": text]) { (folder: String) throws in
      let failure = try #require(throws: Failure.self) { try SecretText.line(of: folder + "/secret") }
      #expect(failure.status == .badInput)
      #expect(failure.message.contains(folder))
      #expect(!failure.message.contains("MARKED"))
      #expect(throws: Failure.self) { try SecretText.line(of: folder + "/absent") }
      #expect(throws: Failure.self) { try SecretText.line(of: folder) }
    }
  }

  @Test("A file of a secret may be a link, and a pipe in its place is not waited for", .timeLimit(.minutes(5)))
  func namedFilesMayBeLinks() throws {
    try withFiles(["secret": "from-file\n"]) { (folder: String) throws in
      try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: folder + "/secret")
      #expect(try SecretText.line(of: folder + "/link") == "from-file")
      try #require(mkfifo(folder + "/pipe", 0o600) == 0)
      #expect(throws: Failure.self) { try SecretText.line(of: folder + "/pipe") }
    }
  }

  @Test("A variable that no header may contain is refused without its value") func otherVariablesAreRefused() throws {
    let failure = try #require(throws: Failure.self) {
      try Secret.meshToken.value(nil, ["MESH_AUTH_TOKEN": "MARKED\r\nx: y"])
    }
    #expect(failure.message.contains("MESH_AUTH_TOKEN"))
    #expect(!failure.message.contains("MARKED"))
  }

  @Test("A file that every user may read is noticed") func openFilesAreNoticed() throws {
    try withFiles(["secret": "s"]) { (folder: String) throws in
      #expect(!SecretText.isReadableByAll(folder + "/secret"))
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder + "/secret")
      #expect(SecretText.isReadableByAll(folder + "/secret"))
      #expect(!SecretText.isReadableByAll(folder + "/absent"))
    }
  }

  @Test("The unit of the agent gets each of its secrets as a credential, and none as a variable")
  func theUnitHasNoSecretVariable() throws {
    let unit = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../packaging/systemd/edgeblue-agent.service").standardized
    let text = try String(contentsOf: unit, encoding: .utf8)
    for secret in Secret.all where secret != .speedTestKeys {
      #expect(text.contains("\nLoadCredential=\(secret.name):edgeblue.\(secret.name)\n"), "\(secret.name)")
    }
    #expect(!text.contains("Environment"))
  }

  @Test("The token service needs a token in a file or a credential") func aTokenServiceNeedsAToken() throws {
    #expect(throws: (any Error).self) { try StoreOptions.parse(["--token-service", "https://a.example"]) }
    #expect(throws: (any Error).self) { try StoreOptions.parse(["--token-file", "/nonexistent"]) }
    _ = try StoreOptions.parse(["--token-service", "https://a.example", "--token-file", "/nonexistent"])
  }
}
