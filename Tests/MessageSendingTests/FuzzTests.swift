import DeterministicTesting
import Foundation
import SystemTesting
import Testing

@testable import MessageSending

/// Bytes that nobody meant: pieces of good input, changed, cut, doubled and random.
private struct Fuzz {
  var random: SeededGenerator

  /// `EDGEBLUE_FUZZ_INPUTS=10000000` tries so many in each test.
  static func run(_ good: [UInt8], _ body: ([UInt8]) throws -> Void) rethrows {
    let count = Int(ProcessInfo.processInfo.environment["EDGEBLUE_FUZZ_INPUTS"] ?? "") ?? 2000
    let seed = UInt64.random(in: 1...1_000_000)
    print("fuzz: \(count) inputs, seed \(seed)")
    var fuzz = Fuzz(random: SeededGenerator(seed: seed))
    for _ in 0..<count { try body(fuzz.changed(good)) }
  }

  mutating func changed(_ good: [UInt8]) -> [UInt8] {
    var bytes = good
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      switch Int.random(in: 0..<6, using: &random) {
      case 0: bytes.removeLast(min(bytes.count, Int.random(in: 0...40, using: &random)))
      case 1: bytes += (0..<Int.random(in: 0...40, using: &random)).map { _ in .random(in: 0...255, using: &random) }
      case 2: bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
      case 3 where bytes.count > 8:
        // Where the headers and lengths are.
        bytes[Int.random(in: 0..<8, using: &random)] = [0, 1, 0x7f, 0x80, 0xff].randomElement(using: &random) ?? 0
      default:
        guard let place = bytes.indices.randomElement(using: &random) else { continue }
        bytes[place] = .random(in: 0...255, using: &random)
      }
    }
    return bytes
  }
}

@Suite("Input that nobody meant", .computing, .timeLimit(.minutes(600)))
struct FuzzTests {
  @Test("No bytes trap the reader of a queue, with a right checksum and without")
  func queue() throws {
    var contents = try QueueContents(covers: RandomCovers())
    _ = try contents.append(message("message 1"), secret: secret("secret__secret__"))
    func read(_ bytes: [UInt8]) throws {
      do throws(MessageSendingError) {
        #expect(try QueueContents(fileBytes: bytes).items.count == SendingQueue.capacity)
      } catch { #expect(error.code == .damagedFile) }
    }
    try Fuzz.run(Array(contents.fileBytes.dropFirst(32))) { body in
      try read(Sodium.sha256(body) + body)
      try read(body)
    }
    try Fuzz.run(
      QueueLayout.littleEndian.bytes(items: QueueLayoutTests.items(), hints: QueueLayoutTests.hints(32)), read)
  }

  @Test("No bytes trap the reader of a vault, encrypted or decrypted")
  func vault() throws {
    let box = try VaultBox(
      passphrase: secret("x"), salt: [UInt8](repeating: 1, count: VaultBox.saltByteCount), cost: VaultFixture.cost)
    var contents = try VaultContents()
    contents.add(try (0..<5).map { _ in try MessageHint.random() })
    let good = try contents.bytes().withBytes { Array($0) }
    Fuzz.run(good) { changed in
      var bytes = changed.prefix(VaultContents.byteCount) + [UInt8](repeating: 0, count: VaultContents.byteCount)
      bytes.removeLast(bytes.count - VaultContents.byteCount)
      var plain = Array(bytes)
      do throws(MessageSendingError) {
        #expect(try VaultContents(SecretBytes(taking: &plain)).hints.count <= VaultContents.hintCapacity)
      } catch { #expect(error.code == .damagedFile) }
    }
    try Fuzz.run(box.seal(contents.bytes())) { bytes in
      guard bytes.count == Vault.byteCount else { return }
      do throws(MessageSendingError) { _ = try box.open(bytes) } catch { #expect(error.code == .cannotUnlock) }
    }
  }

  @Test("No bytes trap the reader of keys, signed or not")
  func keys() throws {
    let fixture = try KeysFixture()
    let document = try SignedKeys(fixture.keys, signedBy: fixture.root).document()
    Fuzz.run(document) { bytes in
      do throws(MessageSendingError) {
        _ = try SignedKeys(bytes).verified(by: fixture.root.publicKey, atMs: KeysFixture.issuedMs)
      } catch { #expect(error.code == .untrustedKeys) }
    }
    let payload = #"{"type":"edgeblue-message-keys","version":1,"issued":1,"expires":9e9,"nodes":[],"recipients":[{}]}"#
    try Fuzz.run(Array(payload.utf8)) { bytes in
      let signed = try fixture.document(bytes)
      let error = #expect(throws: MessageSendingError.self) {
        try signed.verified(by: fixture.root.publicKey, atMs: KeysFixture.issuedMs)
      }
      #expect(error?.code == .untrustedKeys)
    }
  }

  @Test("No bytes trap the reader of packets to a relay, or of its answers")
  func relay() throws {
    try Fuzz.run(RelayPacket.encode(message("a"))) { bytes in
      _ = RelayAnswer(bytes: Array(bytes.prefix(2)))
      do throws(MessageSendingError) { _ = try RelayPacket.decode(bytes) } catch {
        #expect(error.code == .invalidArgument)
      }
    }
  }

  @Test("No bytes trap the reader of texts and messages")
  func texts() throws {
    try Fuzz.run(PaddedText.bytes("The quick brown fox jumps over the lazy dog.")) { bytes in
      do throws(MessageSendingError) { _ = try PaddedText.text(bytes) } catch { #expect(error.code == .cannotOpen) }
    }
    let node = try BoxSecretKey()
    let good = try MessageContents().sealed(to: node.publicKey, node.publicKey)
    Fuzz.run(good.bytes) { bytes in
      do throws(MessageSendingError) {
        _ = try MessageOpener(node: node, recipients: ["desk": node]).open(SealedMessage(bytes: bytes))
      } catch { #expect([.cannotOpen, .invalidArgument].contains(error.code)) }
    }
  }
}
