import DurableFiles
internal import ErrorReporting
import FoundationEssentials
import Glibc

/// The contents of a small JSON file that is whole at every moment, also after `kill -9` and on a full disk.
struct KeptContents<Contents: Codable & Versioned>: Sendable {
  /// The state of the file on disk.
  enum Found {
    case nothing
    case contents(Contents)
    /// A file with another format, which was renamed so that the user can look at it.
    case damaged
  }

  let file: WholeFile

  /// Reads the file.
  /// - Throws: ``AgentError`` with code `.storage` when the file exists and cannot be read.
  func load() throws(AgentError) -> Found {
    do throws(FileError) {
      guard let data = try file.read() else { return .nothing }
      if data.count <= file.limit, let contents = try? JSONDecoder().decode(Contents.self, from: data),
        contents.version == 1
      {
        return .contents(contents)
      }
      try file.setAside()
      return .damaged
    } catch {
      throw AgentError(error)
    }
  }

  /// Reads the value of the file.
  /// - Parameters:
  ///   - usual: The value without a file, and with a corrupt one.
  ///   - value: A function that returns the value of the contents.
  ///   - damaged: The problem to report for a corrupt file.
  /// - Throws: ``AgentError`` with code `.storage` when the file exists and cannot be read.
  func restore<Value>(
    orElse usual: Value, _ value: (Contents) -> Value, damaged: AgentError
  ) throws(AgentError) -> Restored<Value> {
    switch try load() {
    case .nothing: Restored(value: usual)
    case .contents(let contents): Restored(value: value(contents))
    case .damaged: Restored(value: usual, problem: damaged)
    }
  }

  /// Replaces the file durably. After an error it has the old contents or the new ones.
  /// - Parameter isForPeople: Whether each value gets a line of its own.
  /// - Throws: ``AgentError`` with code `.storage`.
  func save(_ contents: Contents, isForPeople: Bool = true) throws(AgentError) {
    do {
      let encoder = JSONEncoder()
      if isForPeople { encoder.outputFormatting = [.prettyPrinted, .sortedKeys] }
      try file.write(try encoder.encode(contents) + (isForPeople ? Data("\n".utf8) : Data()))
    } catch let error as FileError {
      throw AgentError(error)
    } catch {
      throw AgentError(.storage, error.safeText)
    }
  }
}

/// The contents of a file, with the version of its format.
protocol Versioned: Sendable {
  var version: Int { get }
}

extension AgentError {
  init(_ failure: FileError) {
    self.init(
      .storage, "\(failure)", errno: failure.errno, hint: failure.errno == ENOENT ? "create the folder first" : nil)
  }
}
