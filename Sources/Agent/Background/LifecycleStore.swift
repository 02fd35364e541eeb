import BackgroundTasks
import FoundationEssentials
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

  /// The file as it is written; a later format has another version.
  private struct Contents: Codable {
    var version = 1
    var choice: LifecycleChoice
  }

  private let file: WholeFile

  /// Names the file, in a folder that is there; nothing is read yet.
  public init(path: String) { file = WholeFile(path: path, limit: 4096) }

  /// Reads the choice. A file that cannot be understood is kept aside, with `.damaged` behind its name.
  /// - Throws: ``AgentError`` with code `.storage`, when the file is there and cannot be read.
  public func load() throws(AgentError) -> Loaded {
    do throws(WholeFile.Failure) {
      guard let data = try file.read() else { return Loaded(choice: .auto) }
      if data.count <= file.limit, let contents = Self.decode(data), contents.version == 1 {
        return Loaded(choice: contents.choice)
      }
      try file.keepAside()
    } catch {
      throw AgentError(error)
    }
    return Loaded(
      choice: .auto,
      problem: AgentError(
        .damagedFile, "\(file.path) does not hold a phase; the system decides",
        hint: "the file is kept as \(file.damagedPath)"))
  }

  /// Writes the choice. When this returns it is on disk; when it throws, the file is the old one or the new one.
  /// - Throws: ``AgentError`` with code `.storage`.
  public func save(_ choice: LifecycleChoice) throws(AgentError) {
    do {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      try file.write(try encoder.encode(Contents(choice: choice)) + Data("\n".utf8))
    } catch let error as WholeFile.Failure {
      throw AgentError(error)
    } catch {
      throw AgentError(.storage, "\(error)")
    }
  }

  /// `nil` for anything else than what is written here; what exactly is wrong, the file kept aside shows.
  private static func decode(_ data: Data) -> Contents? { try? JSONDecoder().decode(Contents.self, from: data) }
}
