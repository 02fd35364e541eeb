import DurableFiles
public import SystemState

/// A file with the lifecycle phase that the user chose, which is whole at every moment.
public struct LifecycleStore: Sendable {
  /// The file as it is written.
  private struct Contents: Codable, Versioned {
    var version = 1
    var choice: LifecycleChoice
  }

  private let kept: KeptContents<Contents>

  /// Creates a reference to a file in an existing folder without accessing the disk.
  public init(path: String) { self.init(path: path, disk: Disk()) }

  /// Creates a reference to a file on a disk whose steps a test can make fail.
  init(path: String, disk: Disk) { kept = KeptContents(file: WholeFile(path: path, limit: 4096, disk: disk)) }

  /// Reads the choice from disk. A corrupt file is renamed: `.damaged` is appended to its name.
  /// - Throws: ``AgentError`` with code `.storage` when the file exists and cannot be read.
  public func load() throws(AgentError) -> Restored<LifecycleChoice> {
    try kept.restore(
      orElse: .auto, \.choice,
      damaged: AgentError(
        .damagedFile, "\(kept.file.path) does not hold a phase; the system decides",
        hint: "the file is kept as \(kept.file.damagedPath)"))
  }

  /// Replaces the choice on disk durably. After an error the file has the old choice or the new one.
  /// - Throws: ``AgentError`` with code `.storage`.
  public func save(_ choice: LifecycleChoice) throws(AgentError) { try kept.save(Contents(choice: choice)) }
}

extension StateFolder {
  /// The file of the lifecycle phase that the user chose.
  public var lifecycle: LifecycleStore { LifecycleStore(path: path + "/lifecycle.json") }
}
