import DurableFiles
import Foundation
import Glibc
import Testing

@testable import MessageSending

/// The copy of keys that are published, and what may replace it.
@Suite("A file of keys") struct KeysFileTests {
  let folder: TestFolder
  let root: RootSecretKey
  init() throws {
    folder = try TestFolder()
    root = try RootSecretKey(seed: SecretBytes(randomCount: RootSecretKey.byteCount))
  }

  private static let day: Int64 = 86_400_000
  private static let now: Int64 = 1_790_000_000_000

  private func file(atMs now: Int64 = now, disk: Disk = Disk()) -> KeysFile {
    KeysFile(path: folder.path + "/keys.json", root: root.publicKey, nowMs: { now }, disk: disk)
  }

  /// Returns a document of keys that are valid for a week.
  private func document(issuedMs: Int64, by signer: RootSecretKey? = nil) throws -> [UInt8] {
    let nodes = [try BoxSecretKey().publicKey, try BoxSecretKey().publicKey]
    let keys = try RecipientKeys(nodes: nodes, recipients: [], issuedMs: issuedMs, expiresMs: issuedMs + 7 * Self.day)
    return try SignedKeys(keys, signedBy: signer ?? root).document()
  }

  @Test("A newer signed document replaces the file, and covers are made for its keys") func aNewerDocument() throws {
    try file().replace(by: document(issuedMs: Self.now - 2 * Self.day))
    let newer = try document(issuedMs: Self.now - Self.day)
    try file().replace(by: newer)
    #expect(try folder.bytes("keys.json") == newer)
    #expect(try file().keys().issuedMs == Self.now - Self.day)
    #expect(try file().cover() != file().cover())
    // The same one is as good as a newer one: it is fetched before each run.
    #expect(throws: Never.self) { try file().replace(by: newer) }
  }

  @Test("Unsigned, foreign, expired, early and older documents are refused, and the file stays") func otherDocuments()
    throws
  {
    let good = try document(issuedMs: Self.now - Self.day)
    try file().replace(by: good)
    let stranger = try RootSecretKey(seed: SecretBytes(randomCount: RootSecretKey.byteCount))
    var changed = try document(issuedMs: Self.now)
    changed[changed.count / 2] ^= 1
    let documents = [
      [], Array("{}".utf8), changed, try document(issuedMs: Self.now, by: stranger),
      try document(issuedMs: Self.now - 8 * Self.day), try document(issuedMs: Self.now + Self.day),
      try document(issuedMs: Self.now - 2 * Self.day),
    ]
    for (number, document) in documents.enumerated() {
      let error = #expect(throws: MessageSendingError.self, "\(number)") { try file().replace(by: document) }
      #expect([.untrustedKeys, .expiredKeys].contains(error?.code))
    }
    #expect(try folder.bytes("keys.json") == good)
  }

  @Test("Without valid keys there is no cover, and so nothing is sent") func noKeysNoCover() async throws {
    #expect(throws: MessageSendingError.self) { try file().cover() }
    try file().replace(by: document(issuedMs: Self.now))
    #expect(throws: MessageSendingError.self) { try file(atMs: Self.now + 7 * Self.day).cover() }
    let place = try SenderPlace()
    let covers = file(atMs: Self.now + 7 * Self.day)
    let sender = MessageSender(
      folder: place.folder, place.queue, covers: covers, transport: place.server, options: place.options)
    #expect(await sender.handle(.ticked) == .withoutCovers)
    #expect(place.server.attempts.isEmpty)
  }

  @Test("An expired file still keeps older documents out, and a damaged one is replaced") func whatIsThere() throws {
    try file().replace(by: document(issuedMs: Self.now - Self.day))
    let later = file(atMs: Self.now + 6 * Self.day)
    #expect(throws: MessageSendingError.self) { try later.keys() }
    #expect(throws: MessageSendingError.self) { try later.replace(by: document(issuedMs: Self.now - 2 * Self.day)) }
    try later.replace(by: document(issuedMs: Self.now + Self.day))
    try folder.write([1, 2, 3], "keys.json")
    try later.replace(by: document(issuedMs: Self.now + Self.day))
    #expect(throws: Never.self) { try later.keys() }
  }

  @Test("A full disk keeps the old keys") func aFullDisk() throws {
    try file().replace(by: document(issuedMs: Self.now - Self.day))
    let full = file(disk: Disk { step, _ in step == .write ? ENOSPC : nil })
    let error = #expect(throws: MessageSendingError.self) { try full.replace(by: document(issuedMs: Self.now)) }
    #expect(error?.code == .storage)
    #expect(try file().keys().issuedMs == Self.now - Self.day)
  }

  @Test("Each run prepares before it makes covers, so that newer keys count at once") func aRunPrepares() async throws {
    let place = try SenderPlace()
    let covers = file()
    let document = try document(issuedMs: Self.now)
    var options = place.options
    options.prepare = { try? covers.replace(by: document) }
    let sender = MessageSender(
      folder: place.folder, place.queue, covers: covers, transport: place.server, options: options)
    #expect(await sender.handle(.ticked) == .done)
  }
}
