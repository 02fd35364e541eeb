import Foundation
import SystemTesting
import Testing

@testable import MessageSending

/// `Peers/messages.py`, which shares no code with ours beyond libsodium itself.
private enum PyNaCl {
  private static let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  private static let python = root.appending(path: ".venv-peers/bin/python3").path

  static let isInstalled: Bool = {
    do {
      return try ChildProcess(python, ["-c", "import nacl"], errors: .discarded).wait() == 0
    } catch { return false }
  }()

  static func run(_ arguments: [String], input: String = "") async throws -> String {
    let script = root.appending(path: "Tests/MessageSendingTests/Peers/messages.py").path
    let process = try ChildProcess(python, [script] + arguments, hasInput: true)
    try await process.write(input)
    process.input.close()
    let (status, output, _) = await process.outcome()
    try #require(status == 0)
    return output.trimmingCharacters(in: .newlines)
  }

  static func hex(_ key: BoxPublicKey) -> String { QueueLayoutTests.hex(key.bytes) }
  static func hex(_ secret: SecretBytes) -> String { secret.withBytes { QueueLayoutTests.hex($0) } }
}

@Suite("An independent program", .enabled(if: PyNaCl.isInstalled, "needs PyNaCl: scripts/python-peers"))
struct PyNaClTests {
  let fixture: KeysFixture
  let text = "Grüße, 你好. \"quoted\""
  init() throws { fixture = try KeysFixture() }

  @Test("PyNaCl opens our messages and covers with either node's key")
  func ours() async throws {
    let sealer = MessageSealer(keys: fixture.keys)
    let user = try BoxSecretKey().publicKey
    let message = try sealer.message(text, to: "desk", from: user)
    for node in fixture.nodes {
      let keys = [PyNaCl.hex(node.secret), PyNaCl.hex(fixture.desk.secret)]
      let opened = try await PyNaCl.run(["open"] + keys, input: Data(message.bytes).base64EncodedString())
      #expect(opened == "\(QueueLayoutTests.hex(MessageContents.tag(of: "desk"))) \(PyNaCl.hex(user)) \(text)")
      let cover = Data(try sealer.cover().bytes).base64EncodedString()
      #expect(try await PyNaCl.run(["open"] + keys, input: cover) == "cover")
    }
  }

  @Test("We open PyNaCl's messages and covers with either node's key")
  func theirs() async throws {
    let user = try BoxSecretKey().publicKey
    let nodes = fixture.nodes.map { PyNaCl.hex($0.publicKey) }
    let made = try await PyNaCl.run(
      ["make"] + nodes + [PyNaCl.hex(fixture.desk.publicKey), PyNaCl.hex(user), "desk"], input: text)
    let message = try SealedMessage(bytes: [UInt8](#require(Data(base64Encoded: made))))
    let covered = try await PyNaCl.run(["cover"] + nodes)
    let cover = try SealedMessage(bytes: [UInt8](#require(Data(base64Encoded: covered))))
    for node in fixture.nodes {
      let opener = MessageOpener(node: node, recipients: ["desk": fixture.desk])
      #expect(try opener.open(message) == .message(.init(recipient: "desk", user: user, text: text)))
      #expect(try opener.open(cover) == .cover)
    }
  }

  @Test("We take keys that PyNaCl has signed")
  func keys() async throws {
    let keys = fixture.keys
    let payload = """
      {"type": "edgeblue-message-keys", "version": 1, "issued": \(keys.issuedMs / 1000), \
      "expires": \(keys.expiresMs / 1000), "nodes": \(keys.nodes.map { Data($0.bytes).base64EncodedString() }), \
      "recipients": [{"id": "desk", "key": "\(Data(fixture.desk.publicKey.bytes).base64EncodedString())"}]}
      """
    let document = try await PyNaCl.run(["keys", PyNaCl.hex(fixture.root.seed), payload])
    let signed = try SignedKeys(Array(document.utf8))
    #expect(try signed.verified(by: fixture.root.publicKey, atMs: KeysFixture.issuedMs) == keys)
  }
}
