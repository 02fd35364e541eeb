import FoundationEssentials
import Glibc

/// Keeps the mode in a small file that is whole at every moment, also after `kill -9` and when the disk is full.
public struct ModeStore: Sendable {
  /// What was found on disk.
  public struct Loaded: Sendable, Hashable {
    /// The mode to restore; Off when there was none, or none that could be read.
    public var record: ModeRecord
    /// What was wrong with the file; a person should hear of it.
    public var problem: AgentError?
  }

  /// The file as it is written; a later format has another version.
  private struct Contents: Codable {
    var version = 1
    var record: ModeRecord
  }

  /// The largest file that is read.
  static let sizeLimit = 4096

  /// Where the file is; its folder is there.
  public let path: String

  /// Names the file; nothing is read yet.
  public init(path: String) { self.path = path }

  /// Where a file is kept aside that could not be understood. There is one such place: the newest takes it.
  public var damagedPath: String { path + ".damaged" }

  /// Reads the mode. A file that cannot be understood is kept aside at ``damagedPath``, and the mode is Off.
  /// - Throws: ``AgentError`` with code `.storage`, when the file is there and cannot be read.
  public func load() throws(AgentError) -> Loaded {
    guard let bytes = try read() else { return Loaded(record: ModeRecord()) }
    do {
      let contents = try JSONDecoder().decode(Contents.self, from: Data(bytes))
      if bytes.count <= Self.sizeLimit, contents.version == 1 {
        let record = contents.record
        // By way of the initializer, for a combination that cannot be.
        return Loaded(
          record: ModeRecord(
            mode: record.mode, cause: record.cause, runOnlyWhileCharging: record.runOnlyWhileCharging))
      }
    } catch {
      // What exactly is wrong, the file kept aside shows.
    }
    guard rename(path, damagedPath) == 0 else { throw failure("keeping \(path) aside") }
    return Loaded(
      record: ModeRecord(),
      problem: AgentError(
        .damagedFile, "\(path) does not hold a mode; the mode is Off",
        hint: "the file is kept as \(damagedPath); choose a mode anew"))
  }

  /// Writes the mode. When this returns it is on disk; when it throws, the file is the old one or the new one, and whole.
  /// - Throws: ``AgentError`` with code `.storage`.
  public func save(_ record: ModeRecord) throws(AgentError) {
    let bytes: [UInt8]
    do {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      bytes = Array(try encoder.encode(Contents(record: record))) + [UInt8(ascii: "\n")]
    } catch {
      throw AgentError(.storage, "\(error)")
    }
    // One name, so that a crash leaves one such file at most.
    let new = path + ".new"
    try write(bytes, to: new)
    guard rename(new, path) == 0 else { throw failure("renaming \(new)") }
    try sync(path.lastIndex(of: "/").map { String(path[...$0]) } ?? ".", O_RDONLY | O_DIRECTORY)
  }

  /// The bytes of the file, at most one more than the limit; `nil` when it is not there.
  private func read() throws(AgentError) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw failure("opening \(path)")
    }
    defer { close(file) }
    var count = -1
    let bytes = [UInt8](unsafeUninitializedCapacity: Self.sizeLimit + 1) { buffer, filled in
      count = Glibc.read(file, buffer.baseAddress, buffer.count)
      filled = max(0, count)
    }
    guard count >= 0 else { throw failure("reading \(path)") }
    return bytes
  }

  private func write(_ bytes: [UInt8], to new: String) throws(AgentError) {
    let file = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure("opening \(new)") }
    defer { close(file) }
    // Less than a page, which a file system takes as a whole or not at all.
    let count = Glibc.write(file, bytes, bytes.count)
    guard count == bytes.count else { throw failure("writing \(new)", count < 0 ? errno : ENOSPC) }
    guard fsync(file) == 0 else { throw failure("writing \(new) to disk") }
  }

  private func sync(_ folder: String, _ flags: Int32) throws(AgentError) {
    let file = open(folder, flags | O_CLOEXEC)
    guard file >= 0 else { throw failure("opening \(folder)") }
    defer { close(file) }
    guard fsync(file) == 0 else { throw failure("writing \(folder) to disk") }
  }

  private func failure(_ phase: String, _ number: Int32 = errno) -> AgentError {
    AgentError(
      .storage, "\(phase): \(String(cString: strerror(number)))", errno: number,
      hint: number == ENOENT ? "the folder has to be there" : nil)
  }
}
