import Foundation
import Testing

@testable import MessageSending

/// A root key, two nodes and a recipient.
struct KeysFixture {
  static let issuedMs: Int64 = 1_795_000_000_000
  static let expiresMs: Int64 = issuedMs + 86_400_000
  let root: RootSecretKey
  let nodes: [BoxSecretKey]
  let desk: BoxSecretKey
  let keys: RecipientKeys

  init() throws {
    root = try RootSecretKey(seed: SecretBytes(randomCount: RootSecretKey.byteCount))
    nodes = [try BoxSecretKey(), try BoxSecretKey()]
    desk = try BoxSecretKey()
    keys = try RecipientKeys(
      nodes: nodes.map(\.publicKey), recipients: [.init(id: "desk", key: desk.publicKey)], issuedMs: Self.issuedMs,
      expiresMs: Self.expiresMs)
  }

  /// A document whose payload is anything, signed by the root.
  func document(_ payload: String) throws -> SignedKeys { try document(Array(payload.utf8)) }

  func document(_ bytes: [UInt8]) throws -> SignedKeys {
    let envelope = [
      "payload": Data(bytes).base64EncodedString(),
      "signature": Data(root.signature(of: bytes)).base64EncodedString(),
    ]
    return try SignedKeys([UInt8](JSONSerialization.data(withJSONObject: envelope)))
  }
}

@Suite("Signed keys")
struct KeysTests {
  let fixture: KeysFixture
  init() throws { fixture = try KeysFixture() }

  @Test("Keys that were signed are verified, from a file too")
  func roundTrip() throws {
    let folder = try TestFolder()
    try folder.write(SignedKeys(fixture.keys, signedBy: fixture.root).document(), "keys.json")
    let read = try SignedKeys.read(path: folder.path + "/keys.json")
    #expect(try read.verified(by: fixture.root.publicKey, atMs: KeysFixture.issuedMs) == fixture.keys)
    let error = #expect(throws: MessageSendingError.self) { try SignedKeys.read(path: folder.path + "/none") }
    #expect(error?.errno == ENOENT)
  }

  @Test("Keys of another root are refused")
  func otherRoot() throws {
    let other = try RootSecretKey(seed: SecretBytes(randomCount: RootSecretKey.byteCount))
    let signed = try SignedKeys(fixture.keys, signedBy: other)
    let error = #expect(throws: MessageSendingError.self) {
      try signed.verified(by: fixture.root.publicKey, atMs: KeysFixture.issuedMs)
    }
    #expect(error?.code == .untrustedKeys)
  }

  @Test("Keys of which a byte was changed are refused")
  func changed() throws {
    let document = try SignedKeys(fixture.keys, signedBy: fixture.root).document()
    for place in stride(from: 0, to: document.count, by: 11) {
      var bytes = document
      bytes[place] ^= 1
      let error = #expect(throws: MessageSendingError.self) {
        try SignedKeys(bytes).verified(by: fixture.root.publicKey, atMs: KeysFixture.issuedMs)
      }
      #expect(error?.code == .untrustedKeys)
    }
  }

  @Test(
    "Keys are valid from five minutes before their issue to before their end",
    arguments: [
      (KeysFixture.issuedMs - 300_001, false), (KeysFixture.issuedMs - 300_000, true), (KeysFixture.issuedMs, true),
      (KeysFixture.expiresMs - 1, true), (KeysFixture.expiresMs, false), (0, false), (.min, false), (.max, false),
    ] as [(Int64, Bool)])
  func validity(now: Int64, isValid: Bool) throws {
    let signed = try SignedKeys(fixture.keys, signedBy: fixture.root)
    let covers = KeyedCovers(keys: fixture.keys, nowMs: { now })
    if isValid {
      _ = try signed.verified(by: fixture.root.publicKey, atMs: now)
      #expect(try covers.cover() != covers.cover())
    } else {
      let error = #expect(throws: MessageSendingError.self) {
        try signed.verified(by: fixture.root.publicKey, atMs: now)
      }
      #expect(error?.code == .expiredKeys)
      #expect(throws: MessageSendingError.self) { try covers.cover() }
    }
  }

  @Test(
    "A signed payload that breaks a rule is refused",
    arguments: [
      "", "[]", "{}", #"{"type":"other","version":1,"issued":0,"expires":1,"nodes":[],"recipients":[]}"#,
      #"{"type":"edgeblue-message-keys","version":2,"issued":0,"expires":1,"nodes":[],"recipients":[]}"#,
      #"{"type":"edgeblue-message-keys","version":1,"issued":0,"expires":1,"nodes":[],"recipients":[]}"#,
      #"{"type":"edgeblue-message-keys","version":1,"issued":0,"expires":1,"nodes":["AA==","AA=="],"recipients":[]}"#,
      #"{"type":"edgeblue-message-keys","version":1,"issued":-9e18,"expires":9e18,"nodes":[],"recipients":[]}"#,
      #"{"type":"edgeblue-message-keys","version":1,"issued":9e99,"expires":9e99,"nodes":[],"recipients":[]}"#,
    ])
  func hostile(payload: String) throws {
    let document = try fixture.document(payload)
    let error = #expect(throws: MessageSendingError.self) {
      try document.verified(by: fixture.root.publicKey, atMs: KeysFixture.issuedMs)
    }
    #expect(error?.code == .untrustedKeys)
  }

  @Test("Recipients with one identifier, none or too long a one are refused", arguments: [["a", "a"], [""], ["long"]])
  func recipients(ids: [String]) throws {
    let key = fixture.desk.publicKey
    let error = #expect(throws: MessageSendingError.self) {
      try RecipientKeys(
        nodes: fixture.keys.nodes,
        recipients: ids.map { .init(id: $0 == "long" ? String(repeating: "x", count: 201) : $0, key: key) },
        issuedMs: 0, expiresMs: 1)
    }
    #expect(error?.code == .invalidArgument)
  }

  @Test("The other end sorts covers from messages, and reads those it has a key for")
  func opening() throws {
    let sealer = MessageSealer(keys: fixture.keys)
    let user = try BoxSecretKey().publicKey
    let message = try sealer.message("Hello", to: "desk", from: user)
    for node in fixture.nodes {
      let opener = MessageOpener(node: node, recipients: ["desk": fixture.desk])
      #expect(try opener.open(sealer.cover()) == .cover)
      #expect(try opener.open(message) == .message(.init(recipient: "desk", user: user, text: "Hello")))
      let tag = Array(Sodium.sha256("desk".utf8).prefix(4))
      #expect(try MessageOpener(node: node, recipients: [:]).open(message) == .otherRecipient(tag: tag))
    }
    let stranger = MessageOpener(node: fixture.desk, recipients: [:])
    #expect(throws: MessageSendingError.cannotOpen) { try stranger.open(message) }
    let error = #expect(throws: MessageSendingError.self) { try sealer.message("Hello", to: "nobody", from: user) }
    #expect(error?.code == .invalidArgument)
  }
}
