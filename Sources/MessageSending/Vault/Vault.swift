package import DurableFiles
import FoundationEssentials
import Glibc

/// A file of a fixed size with what only the user may know: the queue's secret, and the hints of the messages written.
///
/// Without the passphrase the file is random bytes. Every machine has one: ``touch()`` creates one that nobody opens,
/// which looks like any other.
///
/// ```swift
/// func setUp(_ vault: Vault, passphrase: SecretBytes) throws {
///   let unlocked = try vault.create(passphrase: passphrase)
///   print(try unlocked.hints().count)  // 0
/// }
/// ```
///
/// The calls that need the passphrase block the thread for about half a second, which makes guessing expensive.
public struct Vault: Sendable {
  /// The size of every vault, 4096 bytes.
  public static let byteCount = 4096

  /// The path of the file, in a folder that exists.
  public let path: String
  private let file: WholeFile
  private let disk: Disk
  private let cost: VaultCost
  private let lockAttempts: Int
  private let onProblem: @Sendable (MessageSendingError) -> Void

  /// Creates a reference to a vault without accessing the disk.
  /// - Parameters:
  ///   - path: The path of the file, in a folder that exists.
  ///   - onProblem: A closure that receives the error of a vault that was damaged and set aside.
  public init(path: String, onProblem: @escaping @Sendable (MessageSendingError) -> Void = { _ in }) {
    self.init(path: path, disk: Disk(), cost: .usual, onProblem: onProblem)
  }

  /// Creates a reference to a vault on a disk whose steps a test can make fail.
  package init(
    path: String, disk: Disk, cost: VaultCost, lockAttempts: Int = 2000,
    onProblem: @escaping @Sendable (MessageSendingError) -> Void = { _ in }
  ) {
    self.path = path
    self.onProblem = onProblem
    self.disk = disk
    self.cost = cost
    self.lockAttempts = lockAttempts
    file = WholeFile(path: path, limit: Self.byteCount, disk: disk)
  }

  /// Returns `true` if there is a file of a vault's size, whoever may open it.
  /// - Throws: ``MessageSendingError`` with code `.storage`.
  public func exists() throws(MessageSendingError) -> Bool {
    do throws(MessageSendingError) {
      return try load() != nil
    } catch {
      guard error.code == .damagedFile else { throw error }
      return false
    }
  }

  /// Creates a vault with a new queue secret, in the place of one that exists; a damaged one is set aside.
  ///
  /// Messages that wait under an earlier vault's secret are still sent, and nobody can look at them any more.
  /// - Throws: ``MessageSendingError`` with code `.invalidArgument` for an empty passphrase, `.storage` or
  ///   `.cryptography`.
  public func create(passphrase: SecretBytes) throws(MessageSendingError) -> UnlockedVault {
    let box = try VaultBox(
      passphrase: Self.checked(passphrase), salt: Sodium.random(VaultBox.saltByteCount), cost: cost)
    let contents = try VaultContents()
    let bytes = try box.seal(contents.bytes())
    try locked { () throws(MessageSendingError) in
      _ = try loadOrSetAside()
      try save(bytes)
    }
    return UnlockedVault(vault: self, box: box, secret: contents.secret)
  }

  /// Opens the vault with its passphrase.
  /// - Throws: ``MessageSendingError`` with code `.cannotUnlock` for a wrong passphrase and for a corrupt vault, which
  ///   look the same; `.storage` when there is no vault.
  public func unlock(passphrase: SecretBytes) throws(MessageSendingError) -> UnlockedVault {
    let bytes = try locked { () throws(MessageSendingError) in try load() }
    guard let bytes else { throw MessageSendingError(FileError("opening \(path)", errno: ENOENT)) }
    let box = try VaultBox(
      passphrase: Self.checked(passphrase), salt: Array(bytes.prefix(VaultBox.saltByteCount)), cost: cost)
    return UnlockedVault(vault: self, box: box, secret: try VaultContents(box.open(bytes)).secret)
  }

  /// Writes the vault anew without a change, so that its times do not show when a message was written; creates a vault
  /// that nobody opens where there is none, or where a damaged one was set aside.
  ///
  /// To be called when the sender starts and stops. It needs no passphrase.
  /// - Throws: ``MessageSendingError`` with code `.storage` or `.busy`.
  public func touch() throws(MessageSendingError) {
    try locked { () throws(MessageSendingError) in
      if let bytes = try loadOrSetAside() { try save(bytes) } else { try save(Sodium.random(Self.byteCount)) }
    }
  }

  /// Changes the contents under the file's lock, on what other processes have written meanwhile.
  func change<R>(
    with box: VaultBox, _ body: (inout VaultContents) throws(MessageSendingError) -> R
  ) throws(MessageSendingError) -> R {
    try locked { () throws(MessageSendingError) in
      var contents = try read(with: box)
      let result = try body(&contents)
      try save(box.seal(contents.bytes()))
      return result
    }
  }

  /// Returns the contents.
  func contents(with box: VaultBox) throws(MessageSendingError) -> VaultContents {
    try locked { () throws(MessageSendingError) in try read(with: box) }
  }

  private static func checked(_ passphrase: SecretBytes) throws(MessageSendingError) -> SecretBytes {
    guard passphrase.count > 0 else { throw MessageSendingError(.invalidArgument, "the passphrase is empty") }
    return passphrase
  }

  private func read(with box: VaultBox) throws(MessageSendingError) -> VaultContents {
    guard let bytes = try load() else { throw MessageSendingError(FileError("opening \(path)", errno: ENOENT)) }
    return try VaultContents(box.open(bytes))
  }

  private func load() throws(MessageSendingError) -> [UInt8]? {
    let data: Data?
    do { data = try file.read() } catch { throw MessageSendingError(error) }
    guard let data else { return nil }
    guard data.count == Self.byteCount else {
      throw MessageSendingError(
        .damagedFile, "the vault \(path) does not have \(Self.byteCount) bytes", hint: "set up a new one")
    }
    return [UInt8](data)
  }

  /// Loads the vault with the lock held; a damaged one is set aside and reported.
  private func loadOrSetAside() throws(MessageSendingError) -> [UInt8]? {
    do throws(MessageSendingError) {
      return try load()
    } catch {
      guard error.code == .damagedFile else { throw error }
      onProblem(error)
      do { try file.setAside() } catch { throw MessageSendingError(error) }
      return nil
    }
  }

  private func save(_ bytes: [UInt8]) throws(MessageSendingError) {
    do {
      // What a crash left behind may have another mode, or be a link: a file of our own replaces it.
      try disk.remove(path + ".new")
      try file.write(Data(bytes))
    } catch { throw MessageSendingError(error) }
  }

  private func locked<R>(_ body: () throws(MessageSendingError) -> R) throws(MessageSendingError) -> R {
    let lock: FileLock?
    do { lock = try FileLock(path: path + ".lock", attempts: lockAttempts) } catch { throw MessageSendingError(error) }
    guard let lock else {
      throw MessageSendingError(
        .busy, "lock \(path).lock: another process held it for more than \(lockAttempts * 5) ms")
    }
    defer { lock.release() }
    return try body()
  }
}

/// A vault that the passphrase has opened, until the last reference to it; its keys are zeroed then.
public struct UnlockedVault: Sendable {
  private let vault: Vault
  private let box: VaultBox
  /// The secret that messages are queued under.
  public let secret: SecretBytes

  init(vault: Vault, box: VaultBox, secret: SecretBytes) {
    self.vault = vault
    self.box = box
    self.secret = secret
  }

  /// Returns the hints of the messages that were written, oldest first; of very many the last 251.
  /// - Throws: ``MessageSendingError`` with code `.storage`, or `.cannotUnlock` when another vault has replaced this one.
  public func hints() throws(MessageSendingError) -> [MessageHint] { try entries().filter { !$0.marksDamage } }

  /// Returns the hints, and among them the marks of damage.
  func entries() throws(MessageSendingError) -> [MessageHint] { try vault.contents(with: box).hints }

  /// Adds the hint of a message that was queued; it is on disk when this returns.
  /// - Throws: ``MessageSendingError`` with code `.storage`, or `.cannotUnlock` when another vault has replaced this one.
  public func add(_ hint: MessageHint) throws(MessageSendingError) { try add([hint]) }

  func add(_ hints: [MessageHint]) throws(MessageSendingError) { try vault.change(with: box) { $0.add(hints) } }

  /// Removes all hints, as after a wipe of the queue.
  /// - Throws: ``MessageSendingError``.
  public func removeHints() throws(MessageSendingError) { try vault.change(with: box) { $0.removeHints() } }

  /// Returns the key by which recipients know the user's messages, and that they can seal an answer to.
  ///
  /// It is made from the queue's secret, so that the vault holds nothing else.
  /// - Throws: ``MessageSendingError`` with code `.cryptography` when memory runs out.
  public func userKey() throws(MessageSendingError) -> BoxSecretKey {
    var bytes = Sodium.hmac(secret, Array("edgeblue user key".utf8))
    return try BoxSecretKey(SecretBytes(taking: &bytes))
  }
}
