import DurableFiles

/// A file with the mode, which is whole at every moment, also after `kill -9` and on a full disk.
///
/// ```swift
/// let store = ModeStore(path: "/var/lib/edgeblue/mode.json")
/// let loaded = try store.load()
/// if let problem = loaded.problem { print(problem) }
/// try store.save(ModeRecord(mode: .bluetoothLocal))
/// ```
public struct ModeStore: Sendable {
  /// The mode on disk, and a problem of its file.
  public struct Loaded: Sendable, Hashable {
    /// The mode to restore; Off if there is no file or it is corrupt.
    public var record: ModeRecord
    /// The problem of a corrupt file, to report to the user; `nil` if there is none.
    public var problem: AgentError?
  }

  /// The file as it is written.
  private struct Contents: Codable, Versioned {
    var version = 1
    var record: ModeRecord
  }

  private let kept: KeptContents<Contents>

  /// The path of the file, in an existing folder.
  public var path: String { kept.file.path }

  /// Creates a reference to a file in an existing folder without accessing the disk.
  public init(path: String) { kept = KeptContents(file: WholeFile(path: path, limit: 4096)) }

  /// The path that a corrupt file is renamed to; a newer one replaces an older one.
  public var damagedPath: String { kept.file.damagedPath }

  /// Reads the mode from disk. A corrupt file is renamed to ``damagedPath``, and the mode is Off.
  /// - Throws: ``AgentError`` with code `.storage` when the file exists and cannot be read.
  public func load() throws(AgentError) -> Loaded {
    switch try kept.load() {
    case .nothing: return Loaded(record: ModeRecord())
    case .contents(let contents):
      let record = contents.record
      // By way of the initializer, which corrects an impossible combination.
      return Loaded(
        record: ModeRecord(
          mode: record.mode, cause: record.cause, runOnlyWhileCharging: record.runOnlyWhileCharging))
    case .damaged:
      return Loaded(
        record: ModeRecord(),
        problem: AgentError(
          .damagedFile, "\(path) does not hold a mode; the mode is Off",
          hint: "the file is kept as \(damagedPath); choose a mode again"))
    }
  }

  /// Replaces the mode on disk durably. After an error the file has the old mode or the new one.
  /// - Throws: ``AgentError`` with code `.storage`.
  public func save(_ record: ModeRecord) throws(AgentError) { try kept.save(Contents(record: record)) }
}

extension StateFolder {
  /// The file of the compute mode.
  public var modes: ModeStore { ModeStore(path: path + "/mode.json") }
}
