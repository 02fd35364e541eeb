package import DurableFiles
import FoundationEssentials
public import Timing

/// A file with recipients' signed keys, and the covers for them while they are valid.
///
/// The file is read for each use, so that newer keys need no restart. It may be a copy of a document that is published
/// elsewhere: ``replace(by:)`` takes a newer one.
///
/// ```swift
/// func covers(_ root: RootKey) -> KeysFile { KeysFile(path: "/var/lib/edgeblue/messages/keys.json", root: root) }
/// ```
public struct KeysFile: CoverSource {
  /// The path of the file.
  public let path: String
  private let root: RootKey
  private let nowMs: @Sendable () -> Int64
  private let disk: Disk

  /// Creates a reference to a file without accessing the disk.
  /// - Parameters:
  ///   - path: The path of the signed document.
  ///   - root: The root key that the user has pinned.
  ///   - nowMs: The wall clock, in Unix milliseconds.
  public init(path: String, root: RootKey, nowMs: @escaping @Sendable () -> Int64 = WallClock.unixMilliseconds) {
    self.init(path: path, root: root, nowMs: nowMs, disk: Disk())
  }

  package init(path: String, root: RootKey, nowMs: @escaping @Sendable () -> Int64, disk: Disk) {
    self.path = path
    self.root = root
    self.nowMs = nowMs
    self.disk = disk
  }

  /// Returns the keys, if the root key has signed them and they are valid now.
  /// - Throws: ``MessageSendingError`` with code `.storage`, `.untrustedKeys` or `.expiredKeys`: then nothing is to be
  ///   sent.
  public func keys() throws(MessageSendingError) -> RecipientKeys {
    try SignedKeys.read(path: path).verified(by: root, atMs: nowMs())
  }

  /// Returns a new cover while the keys are valid.
  /// - Throws: ``MessageSendingError``, as ``keys()``.
  public func cover() throws(MessageSendingError) -> SealedMessage { try MessageSealer(keys: try keys()).cover() }

  /// Replaces the file by a document that was fetched, if the root key has signed it, it is valid now, and it was not
  /// issued before the one in the file: an old document could bring back keys that were withdrawn.
  /// - Throws: ``MessageSendingError`` with code `.untrustedKeys`, `.expiredKeys` or `.storage`; the file is then as it
  ///   was.
  public func replace(by document: [UInt8]) throws(MessageSendingError) {
    let new = try SignedKeys(document).verified(by: root, atMs: nowMs())
    if let issuedMs = issuedMs(), new.issuedMs < issuedMs {
      throw MessageSendingError(
        .untrustedKeys, "the keys were issued before those in \(path)", hint: "an old list may have been sent again")
    }
    do throws(FileError) {
      try WholeFile(path: path, limit: SignedKeys.largestByteCount, disk: disk).write(Data(document))
    } catch {
      throw MessageSendingError(error)
    }
  }

  /// Returns the time at which the keys in the file were issued, also of expired ones; `nil` if there are none of the
  /// root key's.
  private func issuedMs() -> Int64? {
    do {
      return try SignedKeys.read(path: path).keys(signedBy: root).issuedMs
    } catch {
      return nil  // Whatever is wrong with the file, the new document is better.
    }
  }
}
