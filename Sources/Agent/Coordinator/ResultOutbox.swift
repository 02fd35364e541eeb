import DurableFiles
internal import ErrorReporting
import FoundationEssentials
import Glibc

/// The files of the results that the coordinator does not have yet, one for each. They survive `kill -9` and a full disk.
struct ResultOutbox: Sendable {
  /// A result that waits to be sent.
  struct Entry: Sendable, Hashable {
    /// The number of the result; results are sent in the order of their numbers.
    var number: Int
    var result: ResultRequest
  }

  /// The largest output of a result: 256 KiB; the coordinator accepts 1 MiB for the whole request.
  static let outputLimit = 256 << 10
  /// The largest file: an output with each byte escaped, and 64 KiB.
  private static let fileLimit = 6 * outputLimit + (64 << 10)

  private struct Contents: Codable {
    var version = 1
    var coordinator: String
    var result: ResultRequest
  }

  private let folder: String
  private let coordinator: String

  /// Creates the folder for the results of one coordinator, if it does not exist.
  /// - Throws: ``AgentError`` with code `.storage`.
  init(folder: String, coordinator: String) throws(AgentError) {
    self.folder = folder
    self.coordinator = coordinator
    do { try Disk().createFolder(folder) } catch { throw AgentError(error) }
  }

  /// Reads the results, in order.
  /// - Returns: The results of this coordinator, and the problems of corrupt files, which were renamed.
  /// - Throws: ``AgentError`` with code `.storage` when a file exists and cannot be read.
  func load() throws(AgentError) -> (entries: [Entry], problems: [String]) {
    var entries: [Entry] = []
    var problems: [String] = []
    let names: [String]
    do { names = try FileManager.default.contentsOfDirectory(atPath: folder) } catch {
      throw AgentError(.storage, "reading the folder \(folder): \(error)")
    }
    for number in names.compactMap(Self.number).sorted() {
      let file = file(number)
      do throws(FileError) {
        guard let data = try file.read() else { continue }
        if data.count <= file.limit, let contents = try? JSONDecoder().decode(Contents.self, from: data),
          contents.version == 1
        {
          if contents.coordinator == coordinator { entries.append(Entry(number: number, result: contents.result)) }
        } else {
          try file.setAside()
          problems.append("\(file.path) does not contain a result; it is kept as \(file.damagedPath)")
        }
      } catch {
        throw AgentError(error)
      }
    }
    return (entries, problems)
  }

  /// Returns the number after those of all results, of every coordinator.
  func nextNumber() -> Int {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let numbers = names.compactMap { Self.number($0.hasSuffix(".damaged") ? String($0.dropLast(8)) : $0) }
    return (numbers.max() ?? 0) + 1
  }

  /// Writes a result durably.
  /// - Throws: ``AgentError`` with code `.storage`.
  func keep(_ entry: Entry) throws(AgentError) {
    do {
      try file(entry.number).write(
        try JSONEncoder().encode(Contents(coordinator: coordinator, result: entry.result)))
    } catch let error as FileError {
      throw AgentError(error)
    } catch {
      throw AgentError(.storage, error.safeText)
    }
  }

  /// Removes a result. One that reappears after a crash is sent once more, which the coordinator tolerates.
  func discard(_ number: Int) {
    unlink(file(number).path)
  }

  private func file(_ number: Int) -> WholeFile {
    WholeFile(path: "\(folder)/\(number).json", limit: Self.fileLimit)
  }

  private static func number(_ name: String) -> Int? {
    guard name.hasSuffix(".json"), let number = Int(name.dropLast(5)), (1..<Int.max).contains(number)
    else { return nil }
    return number
  }
}
