import DurableFiles
import Foundation
import Glibc
import Testing

@testable import MessageSending

/// Links and pipes where keys and messages are kept.
@Suite("Links among keys and messages", .timeLimit(.minutes(5))) struct LinkAttacks {
  private let folder: TestFolder
  init() throws { folder = try TestFolder() }

  private func link(_ name: String, to target: String) throws {
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/" + name, withDestinationPath: folder.path + "/" + target)
  }

  private func pipe(_ name: String) throws { try #require(mkfifo(folder.path + "/" + name, 0o600) == 0) }

  @Test("A secret key is read neither through a link nor from a pipe") func secretsAreNotFollowed() throws {
    let secret = try SecretBytes(randomCount: 32)
    try SecretFile(path: folder.path + "/elsewhere").write(secret)
    try link("key", to: "elsewhere")
    try pipe("pipe")
    let error = #expect(throws: MessageSendingError.self) {
      try SecretFile(path: folder.path + "/key").read(count: 32)
    }
    #expect(error?.errno == ELOOP)
    let other = #expect(throws: MessageSendingError.self) {
      try SecretFile(path: folder.path + "/pipe").read(count: 32)
    }
    #expect(other?.errno == EINVAL)
  }

  @Test("A relay takes no message through a link, nor from a pipe", arguments: [true, false])
  func messagesAreNotFollowed(isLink: Bool) throws {
    try FileManager.default.createDirectory(atPath: folder.path + "/relay", withIntermediateDirectories: true)
    let message = try RandomCovers().cover()
    try folder.write(message.bytes, "elsewhere")
    if isLink {
      try link("relay/item-0000000001.box", to: "elsewhere")
    } else {
      try pipe("relay/item-0000000001.box")
    }
    let error = #expect(throws: MessageSendingError.self) {
      try RelayQueue(folder: folder.path + "/relay", limit: 4, covers: RandomCovers(), disk: Disk())
    }
    #expect(error?.errno == (isLink ? ELOOP : EINVAL))
    #expect(try folder.bytes("elsewhere") == message.bytes)
  }

  /// Its signature proves it, wherever it is.
  @Test("A signed list of keys may be a link, and a pipe is not waited for") func signedKeysMayBeLinks() throws {
    let root = try RootSecretKey(seed: SecretBytes(randomCount: RootSecretKey.byteCount))
    let nodes = [try BoxSecretKey().publicKey, try BoxSecretKey().publicKey]
    let keys = try RecipientKeys(nodes: nodes, recipients: [], issuedMs: 1000, expiresMs: 2_000_000)
    let document = try SignedKeys(keys, signedBy: root).document()
    try folder.write(document, "elsewhere")
    try link("keys.json", to: "elsewhere")
    #expect(try SignedKeys.read(path: folder.path + "/keys.json").document() == document)
    try pipe("pipe")
    let error = #expect(throws: MessageSendingError.self) { try SignedKeys.read(path: folder.path + "/pipe") }
    #expect(error?.code == .untrustedKeys)
  }
}
