import DurableFiles
public import SystemState

/// A file with the lifecycle phase that the user chose, which is whole at every moment.
public struct LifecycleStore: Sendable {
  /// The choice on disk, and a problem of its file.
  public struct Loaded: Sendable, Hashable {
    /// The choice of the user; `auto` if there is no file or it is corrupt.
    public var choice: LifecycleChoice
    /// The problem of a corrupt file, to report to the user; `nil` if there is none.
    public var problem: AgentError?
  }

  /// The file as it is written.
  private struct Contents: Codable, Versioned {
    var version = 1
    var choice: LifecycleChoice
  }

  private let kept: KeptContents<Contents>

  /// Creates a reference to a file in an existing folder without accessing the disk.
  public init(path: String) { kept = KeptContents(file: WholeFile(path: path, limit: 4096)) }

  /// Reads the choice from disk. A corrupt file is renamed: `.damaged` is appended to its name.
  /// - Throws: ``AgentError`` with code `.storage` when the file exists and cannot be read.
  public func load() throws(AgentError) -> Loaded {
    switch try kept.load() {
    case .nothing: return Loaded(choice: .auto)
    case .contents(let contents): return Loaded(choice: contents.choice)
    case .damaged:
      return Loaded(
        choice: .auto,
        problem: AgentError(
          .damagedFile, "\(kept.file.path) does not hold a phase; the system decides",
          hint: "the file is kept as \(kept.file.damagedPath)"))
    }
  }

  /// Replaces the choice on disk durably. After an error the file has the old choice or the new one.
  /// - Throws: ``AgentError`` with code `.storage`.
  public func save(_ choice: LifecycleChoice) throws(AgentError) { try kept.save(Contents(choice: choice)) }
}

extension StateFolder {
  /// The file of the lifecycle phase that the user chose.
  public var lifecycle: LifecycleStore { LifecycleStore(path: path + "/lifecycle.json") }
}
