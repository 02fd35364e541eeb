import BackgroundTasks
import FoundationEssentials

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

  private let file: WholeFile

  /// Where the file is; its folder is there.
  public var path: String { file.path }

  /// Names the file, in a folder that is there; nothing is read yet.
  public init(path: String) { file = WholeFile(path: path, limit: 4096) }

  /// Where a file is kept aside that could not be understood. There is one such place: the newest takes it.
  public var damagedPath: String { file.damagedPath }

  /// Reads the mode. A file that cannot be understood is kept aside at ``damagedPath``, and the mode is Off.
  /// - Throws: ``AgentError`` with code `.storage`, when the file is there and cannot be read.
  public func load() throws(AgentError) -> Loaded {
    do throws(WholeFile.Failure) {
      guard let data = try file.read() else { return Loaded(record: ModeRecord()) }
      if data.count <= file.limit, let contents = Self.decode(data), contents.version == 1 {
        let record = contents.record
        // By way of the initializer, for a combination that cannot be.
        return Loaded(
          record: ModeRecord(
            mode: record.mode, cause: record.cause, runOnlyWhileCharging: record.runOnlyWhileCharging))
      }
      try file.keepAside()
    } catch {
      throw AgentError(error)
    }
    return Loaded(
      record: ModeRecord(),
      problem: AgentError(
        .damagedFile, "\(file.path) does not hold a mode; the mode is Off",
        hint: "the file is kept as \(damagedPath); choose a mode anew"))
  }

  /// Writes the mode. When this returns it is on disk; when it throws, the file is the old one or the new one, and whole.
  /// - Throws: ``AgentError`` with code `.storage`.
  public func save(_ record: ModeRecord) throws(AgentError) {
    do {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      try file.write(try encoder.encode(Contents(record: record)) + Data("\n".utf8))
    } catch let error as WholeFile.Failure {
      throw AgentError(error)
    } catch {
      throw AgentError(.storage, "\(error)")
    }
  }

  /// `nil` for anything else than what is written here; what exactly is wrong, the file kept aside shows.
  private static func decode(_ data: Data) -> Contents? { try? JSONDecoder().decode(Contents.self, from: data) }
}

extension AgentError {
  init(_ failure: WholeFile.Failure) {
    self.init(.storage, failure.message, errno: failure.errno, hint: failure.hint)
  }
}
