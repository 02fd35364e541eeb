import DurableFiles
import Foundation
import Testing

@testable import MessageSending

@Suite("The outbox")
struct OutboxTests {
  let keys: KeysFixture
  let vaultFixture: VaultFixture
  let queueFixture: QueueFixture
  let vault: UnlockedVault
  let outbox: Outbox
  var sealer: MessageSealer { MessageSealer(keys: keys.keys) }

  init() throws {
    keys = try KeysFixture()
    vaultFixture = try VaultFixture()
    queueFixture = try QueueFixture()
    vault = try vaultFixture.vault.create(passphrase: secret("correct horse"))
    outbox = Outbox(vault: vault, queue: queueFixture.queue)
  }

  @Test("A message is pending until it has left, then sent, and the recipient reads it")
  func journey() throws {
    let hint = try outbox.write("Hello", to: "desk", sealer: sealer)
    #expect(try outbox.messages() == [.init(hint: hint, state: .pending)])
    let sent = try queueFixture.dequeue()
    #expect(try outbox.messages() == [.init(hint: hint, state: .sent)])
    let opened = try MessageOpener(node: keys.nodes[1], recipients: ["desk": keys.desk]).open(sent)
    #expect(
      try opened == .message(.init(recipient: "desk", user: vault.userKey().publicKey, text: "Hello")))
  }

  @Test("A text that does not fit, an unknown recipient and a full queue leave nothing behind")
  func refusals() throws {
    func code(_ text: String, _ recipient: String) -> MessageSendingError.Code? {
      #expect(throws: MessageSendingError.self) { try outbox.write(text, to: recipient, sealer: sealer) }?.code
    }
    #expect(code(String(repeating: "a", count: 60_000), "desk") == .textDoesNotFit)
    #expect(code("Hello", "nobody") == .invalidArgument)
    #expect(try outbox.messages().isEmpty)
    for _ in 0..<SendingQueue.capacity { _ = try outbox.write("Hello", to: "desk", sealer: sealer) }
    #expect(code("Hello", "desk") == .queueIsFull)
    #expect(try outbox.messages().map(\.state) == [Outbox.State](repeating: .pending, count: 8))
  }

  @Test("A message that a crash left out of the vault is pending, and entered by the next one")
  func crash() throws {
    let hint = try queueFixture.queue.append(message("left out"), secret: vault.secret)
    #expect(try outbox.messages() == [.init(hint: hint, state: .pending)])
    let second = try outbox.write("Hello", to: "desk", sealer: sealer)
    #expect(try vault.hints() == [hint, second])
  }

  @Test("Messages of a file that was damaged are not shown as sent")
  func damage() throws {
    let hint = try outbox.write("Hello", to: "desk", sealer: sealer)
    try queueFixture.folder.write([1, 2, 3], "queue")
    #expect(try outbox.messages() == [.init(hint: hint, state: .unknown)])
  }

  @Test("Messages that were written after the damage are shown as sent") func afterTheDamage() throws {
    let lost = try outbox.write("Hello", to: "desk", sealer: sealer)
    for byte in [1, 2] as [UInt8] {
      try queueFixture.folder.write([byte], "queue")
      let later = try outbox.write("Hello again", to: "desk", sealer: sealer)
      #expect(try outbox.messages().last == .init(hint: later, state: .pending))
      _ = try queueFixture.dequeue()
      #expect(try outbox.messages().last == .init(hint: later, state: .sent))
      #expect(try outbox.messages().first == .init(hint: lost, state: .unknown))
    }
    #expect(try vault.hints().count == 3)
    #expect(try outbox.messages().map(\.state) == [.unknown, .unknown, .sent])
  }

  @Test("A wipe leaves no message and no hint")
  func wipe() throws {
    let hint = try outbox.write("Hello", to: "desk", sealer: sealer)
    try outbox.wipe()
    #expect(try outbox.messages().isEmpty)
    #expect(try !queueFixture.queue.contains(hint))
  }

  @Test("A vault on a full disk says that the message is queued all the same")
  func fullDisk() throws {
    let broken = Vault(
      path: vaultFixture.vault.path, disk: Disk(fault: { step, _ in step == .write ? ENOSPC : nil }),
      cost: VaultFixture.cost)
    let outbox = Outbox(
      vault: try broken.unlock(passphrase: secret("correct horse")), queue: queueFixture.queue)
    let error = #expect(throws: MessageSendingError.self) {
      try outbox.write("Hello", to: "desk", sealer: sealer)
    }
    #expect(error?.errno == ENOSPC)
    #expect(error?.hint == "the message is queued and will be sent; do not write it again")
    #expect(try outbox.messages().map(\.state) == [.pending])
  }
}

@Suite("Secrets")
struct SecretTests {
  @Test("A passphrase is the first line of a descriptor, and the rest stays there")
  func line() throws {
    let pipe = Pipe()
    pipe.fileHandleForWriting.write(Data("correct horse\nrest".utf8))
    try pipe.fileHandleForWriting.close()
    let line = try SecretBytes.line(of: pipe.fileHandleForReading.fileDescriptor)
    #expect(line.withBytes { Array($0) } == Array("correct horse".utf8))
    let rest = try SecretBytes.line(of: pipe.fileHandleForReading.fileDescriptor, limit: 4)
    #expect(rest.withBytes { Array($0) } == Array("rest".utf8))
    let error = #expect(throws: MessageSendingError.self) {
      try SecretBytes.line(of: pipe.fileHandleForReading.fileDescriptor)
    }
    #expect(error?.code == .invalidArgument)
  }

  @Test(
    "One line end of either kind is no part of a passphrase",
    arguments: ["päss\n", "päss\r\n", "päss", "päss\r\nrest\r\n"])
  func lineEnds(text: String) throws {
    let pipe = Pipe()
    pipe.fileHandleForWriting.write(Data(text.utf8))
    try pipe.fileHandleForWriting.close()
    // The longest that fits.
    let line = try SecretBytes.line(of: pipe.fileHandleForReading.fileDescriptor, limit: 5)
    #expect(line.withBytes { Array($0) } == Array("päss".utf8))
  }

  @Test("A line that is too long, and a descriptor that is not open, are refused")
  func refusedLine() throws {
    let pipe = Pipe()
    pipe.fileHandleForWriting.write(Data("12345\n".utf8))
    let long = #expect(throws: MessageSendingError.self) {
      try SecretBytes.line(of: pipe.fileHandleForReading.fileDescriptor, limit: 4)
    }
    #expect(long?.code == .invalidArgument)
    let closed = #expect(throws: MessageSendingError.self) { try SecretBytes.line(of: -1) }
    #expect(closed?.errno == EBADF)
  }

  @Test("A secret file is for its user only, and is never replaced")
  func file() throws {
    let folder = try TestFolder()
    let file = SecretFile(path: folder.path + "/key")
    let key = try SecretBytes(randomCount: 32)
    try file.write(key)
    #expect(try file.read(count: 32).withBytes { Array($0) } == key.withBytes { Array($0) })
    let error = #expect(throws: MessageSendingError.self) { try file.write(key) }
    #expect(error?.errno == EEXIST)
    let short = #expect(throws: MessageSendingError.self) { try file.read(count: 31) }
    #expect(short?.code == .damagedFile)
    #expect(chmod(file.path, 0o640) == 0)
    let open = #expect(throws: MessageSendingError.self) { try file.read(count: 32) }
    #expect(open?.code == .damagedFile)
    #expect(try folder.names == ["key"])
  }
}
