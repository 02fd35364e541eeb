import DurableFiles
import Foundation
import Streams
import Testing

@testable import MessageSending

/// A vault in a folder of its own, at a cost that tests can pay.
struct VaultFixture {
  static let cost = VaultCost(passes: 1, memoryByteCount: 1 << 20)
  let folder: TestFolder
  let vault: Vault

  init(disk: Disk = Disk()) throws {
    folder = try TestFolder()
    vault = Vault(path: folder.path + "/vault", disk: disk, cost: Self.cost)
  }
}

@Suite("The vault")
struct VaultTests {
  let fixture: VaultFixture
  var vault: Vault { fixture.vault }
  init() throws { fixture = try VaultFixture() }

  @Test("The passphrase opens the vault, and brings back the secret and the hints")
  func roundTrip() throws {
    let created = try vault.create(passphrase: secret("correct horse"))
    let hints = try (0..<3).map { _ in try MessageHint.random() }
    for hint in hints { try created.add(hint) }
    let unlocked = try vault.unlock(passphrase: secret("correct horse"))
    #expect(try unlocked.hints() == hints)
    #expect(unlocked.secret.withBytes { Array($0) } == created.secret.withBytes { Array($0) })
    #expect(try unlocked.userKey().publicKey == created.userKey().publicKey)
  }

  @Test("A wrong passphrase, a changed byte and a vault that nobody opens look the same")
  func locked() throws {
    _ = try vault.create(passphrase: secret("correct horse"))
    func code(_ passphrase: String) -> MessageSendingError.Code? {
      #expect(throws: MessageSendingError.self) { try vault.unlock(passphrase: secret(passphrase)) }?.code
    }
    #expect(code("correct horses") == .cannotUnlock)
    var bytes = try fixture.folder.bytes("vault")
    for place in [0, 20, 60, 4095] {
      bytes[place] ^= 1
      try fixture.folder.write(bytes, "vault")
      #expect(code("correct horse") == .cannotUnlock)
      bytes[place] ^= 1
    }
    try FileManager.default.removeItem(atPath: vault.path)
    try vault.touch()
    #expect(code("correct horse") == .cannotUnlock)
  }

  @Test("F5: the file has one size always, and a touch changes its inode but not its contents")
  func size() throws {
    func inode() throws -> Int? {
      try FileManager.default.attributesOfItem(atPath: vault.path)[.systemFileNumber] as? Int
    }
    try vault.touch()
    #expect(try fixture.folder.bytes("vault").count == Vault.byteCount)
    let unlocked = try vault.create(passphrase: secret("correct horse"))
    #expect(try fixture.folder.bytes("vault").count == Vault.byteCount)
    for _ in 0..<5 { try unlocked.add(.random()) }
    let bytes = try fixture.folder.bytes("vault")
    #expect(bytes.count == Vault.byteCount)
    let before = try inode()
    try vault.touch()
    #expect(try fixture.folder.bytes("vault") == bytes)
    #expect(try inode() != before)
    #expect(try fixture.folder.names == ["vault", "vault.lock"])
  }

  @Test("Neither the secret nor a hint is in the file, and no two files have a run of bytes in common")
  func nothingToSee() throws {
    let unlocked = try vault.create(passphrase: secret("correct horse"))
    let hint = try MessageHint.random()
    try unlocked.add(hint)
    let first = Data(try fixture.folder.bytes("vault"))
    #expect(first.range(of: Data(hint.bytes.prefix(4))) == nil)
    #expect(first.range(of: unlocked.secret.withBytes { Data($0.prefix(4)) }) == nil)
    let second = try VaultFixture()
    _ = try second.vault.create(passphrase: secret("correct horse"))
    let other = Data(try second.folder.bytes("vault"))
    for start in stride(from: 0, to: Vault.byteCount - 8, by: 4) {
      #expect(other.range(of: first[start..<start + 8]) == nil)
    }
  }

  @Test("The oldest hint makes room for the newest, and a hint is there once")
  func capacity() throws {
    let unlocked = try vault.create(passphrase: secret("correct horse"))
    let hints = try (0..<VaultContents.hintCapacity + 2).map { _ in try MessageHint.random() }
    try unlocked.add(hints)
    try unlocked.add(hints[5])
    #expect(VaultContents.hintCapacity == 251)
    #expect(try unlocked.hints() == Array(hints.dropFirst(2)))
    #expect(try vault.unlock(passphrase: secret("correct horse")).hints() == Array(hints.dropFirst(2)))
  }

  @Test("A vault that another one has replaced takes no hint any more")
  func replaced() throws {
    let old = try vault.create(passphrase: secret("one"))
    let new = try vault.create(passphrase: secret("two"))
    let error = #expect(throws: MessageSendingError.self) { try old.add(.random()) }
    #expect(error?.code == .cannotUnlock)
    #expect(try new.hints().isEmpty)
  }

  @Test("Hints that two openings of one vault write at once are all there")
  func concurrent() async throws {
    let one = try vault.create(passphrase: secret("correct horse"))
    let two = try vault.unlock(passphrase: secret("correct horse"))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<16 {
        group.addTask { try (number.isMultiple(of: 2) ? one : two).add(.random()) }
      }
      try await group.waitForAll()
    }
    #expect(try one.hints().count == 16)
  }

  @Test("A file of another size opens for nobody; the sender and a new vault set it aside", arguments: [0, 4097])
  func otherSize(count: Int) throws {
    let problems = Lock<[MessageSendingError.Code]>([])
    let vault = Vault(path: vault.path, disk: Disk(), cost: VaultFixture.cost) { error in
      problems.withLock { $0.append(error.code) }
    }
    let bytes = [UInt8](repeating: 9, count: count)
    let users: [() throws -> Void] = [vault.touch, { _ = try vault.create(passphrase: secret("new")) }]
    for (number, user) in users.enumerated() {
      try fixture.folder.write(bytes, "vault")
      let error = #expect(throws: MessageSendingError.self) { try vault.unlock(passphrase: secret("x")) }
      #expect(error?.code == .damagedFile)
      #expect(try !vault.exists())
      #expect(problems.withLock { $0.count } == number)
      try user()
      #expect(try fixture.folder.bytes("vault").count == Vault.byteCount)
      #expect(try fixture.folder.bytes("vault.damaged") == bytes)
    }
    #expect(try vault.unlock(passphrase: secret("new")).hints().isEmpty)
  }

  @Test("A missing vault and an empty passphrase are refused")
  func refusals() throws {
    let missing = #expect(throws: MessageSendingError.self) { try vault.unlock(passphrase: secret("x")) }
    #expect(missing?.errno == ENOENT)
    let empty = #expect(throws: MessageSendingError.self) { try vault.create(passphrase: secret("")) }
    #expect(empty?.code == .invalidArgument)
  }

  @Test(
    "A full disk at any step leaves the old vault or the new one", arguments: [DiskStep.open, .write, .sync, .rename])
  func fullDisk(step: DiskStep) throws {
    let unlocked = try vault.create(passphrase: secret("correct horse"))
    let broken = Vault(
      path: vault.path, disk: Disk(fault: { failing, _ in failing == step ? ENOSPC : nil }), cost: VaultFixture.cost)
    let hint = try MessageHint.random()
    let error = #expect(throws: MessageSendingError.self) {
      try broken.unlock(passphrase: secret("correct horse")).add(hint)
    }
    #expect(error?.errno == ENOSPC)
    #expect(try [[], [hint]].contains(unlocked.hints()))
  }
}
