import DurableFiles
public import SystemState

/// Keeps what a person wants the phase to be, in a small file that is whole at every moment.
public struct LifecycleStore: Sendable {
  /// What was found on disk.
  public struct Loaded: Sendable, Hashable {
    /// What a person wants; `auto` when there was nothing, or nothing that could be read.
    public var choice: LifecycleChoice
    /// What was wrong with the file; a person should hear of it.
    public var problem: AgentError?
  }

  /// The file as it is written.
  private struct Contents: Codable, Versioned {
    var version = 1
    var choice: LifecycleChoice
  }

  private let kept: KeptContents<Contents>

  /// Names the file, in a folder that is there; nothing is read yet.
  public init(path: String) { kept = KeptContents(file: WholeFile(path: path, limit: 4096)) }

  /// Reads the choice. A file that cannot be understood is kept aside, with `.damaged` behind its name.
  /// - Throws: ``AgentError`` with code `.storage`, when the file is there and cannot be read.
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

  /// Writes the choice. When this returns it is on disk; when it throws, the file is the old one or the new one.
  /// - Throws: ``AgentError`` with code `.storage`.
  public func save(_ choice: LifecycleChoice) throws(AgentError) { try kept.save(Contents(choice: choice)) }
}
