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
  /// The file as it is written.
  private struct Contents: Codable, Versioned {
    var version = 1
    var record: ModeRecord
  }

  private let kept: KeptContents<Contents>

  /// The path of the file, in an existing folder.
  public var path: String { kept.file.path }

  /// Creates a reference to a file in an existing folder without accessing the disk.
  public init(path: String) { self.init(path: path, disk: Disk()) }

  /// Creates a reference to a file on a disk whose steps a test can make fail.
  init(path: String, disk: Disk) { kept = KeptContents(file: WholeFile(path: path, limit: 4096, disk: disk)) }

  /// The path that a corrupt file is renamed to; a newer one replaces an older one.
  public var damagedPath: String { kept.file.damagedPath }

  /// Reads the mode from disk. A corrupt file is renamed to ``damagedPath``, and the mode is Off.
  /// - Throws: ``AgentError`` with code `.storage` when the file exists and cannot be read.
  public func load() throws(AgentError) -> Restored<ModeRecord> {
    try kept.restore(
      orElse: ModeRecord(),
      { contents in
        let record = contents.record
        // By way of the initializer, which corrects an impossible combination.
        return ModeRecord(mode: record.mode, cause: record.cause, runOnlyWhileCharging: record.runOnlyWhileCharging)
      },
      damaged: AgentError(
        .damagedFile, "\(path) does not hold a mode; the mode is Off",
        hint: "the file is kept as \(damagedPath); choose a mode again"))
  }

  /// Replaces the mode on disk durably. After an error the file has the old mode or the new one.
  /// - Throws: ``AgentError`` with code `.storage`.
  public func save(_ record: ModeRecord) throws(AgentError) { try kept.save(Contents(record: record)) }
}

extension StateFolder {
  /// The file of the compute mode.
  public var modes: ModeStore { ModeStore(path: path + "/mode.json") }
}
