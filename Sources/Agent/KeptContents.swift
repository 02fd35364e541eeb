import DurableFiles
import Glibc
import FoundationEssentials

/// What stands in a small file of JSON that is whole at every moment, also after `kill -9` and when the disk is full.
struct KeptContents<Contents: Codable & Versioned>: Sendable {
  /// What was found on disk.
  enum Found {
    case nothing
    case contents(Contents)
    /// Something else than is written here. It was kept aside; what exactly is wrong, it shows.
    case damaged
  }

  let file: WholeFile

  /// Reads what is there.
  /// - Throws: ``AgentError`` with code `.storage`, when the file is there and cannot be read.
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

  /// Writes it. When this returns it is on disk; when it throws, the file is the old one or the new one, and whole.
  /// - Parameter isForPeople: whether it has a line for each value.
  /// - Throws: ``AgentError`` with code `.storage`.
  func save(_ contents: Contents, isForPeople: Bool = true) throws(AgentError) {
    do {
      let encoder = JSONEncoder()
      if isForPeople { encoder.outputFormatting = [.prettyPrinted, .sortedKeys] }
      try file.write(try encoder.encode(contents) + (isForPeople ? Data("\n".utf8) : Data()))
    } catch let error as FileError {
      throw AgentError(error)
    } catch {
      throw AgentError(.storage, "\(error)")
    }
  }
}

/// The contents of a file, with the version of its format; a later one has another version.
protocol Versioned: Sendable {
  var version: Int { get }
}

extension AgentError {
  init(_ failure: FileError) {
    self.init(
      .storage, "\(failure)", errno: failure.errno, hint: failure.errno == ENOENT ? "the folder has to be there" : nil)
  }
}
