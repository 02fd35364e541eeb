import DurableFiles

/// Keeps the mode in a small file that is whole at every moment, also after `kill -9` and when the disk is full.
public struct ModeStore: Sendable {
  /// What was found on disk.
  public struct Loaded: Sendable, Hashable {
    /// The mode to restore; Off when there was none, or none that could be read.
    public var record: ModeRecord
    /// What was wrong with the file; a person should hear of it.
    public var problem: AgentError?
  }

  /// The file as it is written.
  private struct Contents: Codable, Versioned {
    var version = 1
    var record: ModeRecord
  }

  private let kept: KeptContents<Contents>

  /// Where the file is; its folder is there.
  public var path: String { kept.file.path }

  /// Names the file, in a folder that is there; nothing is read yet.
  public init(path: String) { kept = KeptContents(file: WholeFile(path: path, limit: 4096)) }

  /// Where a file is kept aside that could not be understood. There is one such place: the newest takes it.
  public var damagedPath: String { kept.file.damagedPath }

  /// Reads the mode. A file that cannot be understood is kept aside at ``damagedPath``, and the mode is Off.
  /// - Throws: ``AgentError`` with code `.storage`, when the file is there and cannot be read.
  public func load() throws(AgentError) -> Loaded {
    switch try kept.load() {
    case .nothing: return Loaded(record: ModeRecord())
    case .contents(let contents):
      let record = contents.record
      // By way of the initializer, for a combination that cannot be.
      return Loaded(
        record: ModeRecord(
          mode: record.mode, cause: record.cause, runOnlyWhileCharging: record.runOnlyWhileCharging))
    case .damaged:
      return Loaded(
        record: ModeRecord(),
        problem: AgentError(
          .damagedFile, "\(path) does not hold a mode; the mode is Off",
          hint: "the file is kept as \(damagedPath); choose a mode anew"))
    }
  }

  /// Writes the mode. When this returns it is on disk; when it throws, the file is the old one or the new one, and whole.
  /// - Throws: ``AgentError`` with code `.storage`.
  public func save(_ record: ModeRecord) throws(AgentError) { try kept.save(Contents(record: record)) }
}
