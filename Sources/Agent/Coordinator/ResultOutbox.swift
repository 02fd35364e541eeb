import DurableFiles
import FoundationEssentials
import Glibc

/// Results that the coordinator does not have yet, a file each: they outlive `kill -9`, and a full disk leaves those
/// before as they were.
struct ResultOutbox: Sendable {
  /// A result that waits.
  struct Entry: Sendable, Hashable {
    /// Counts them, in the order in which they are sent.
    var number: Int
    var result: ResultRequest
  }

  /// The largest output of a result, in bytes; the coordinator takes 1 MiB for the whole request.
  static let outputLimit = 256 << 10
  /// A result with every character of its output escaped, and then some.
  private static let fileLimit = 6 * outputLimit + (64 << 10)

  private struct Contents: Codable {
    var version = 1
    var coordinator: String
    var result: ResultRequest
  }

  private let folder: String
  private let coordinator: String

  /// Takes a folder for the results of one coordinator; makes it if it is not there.
  /// - Throws: ``AgentError`` with code `.storage`.
  init(folder: String, coordinator: String) throws(AgentError) {
    (self.folder, self.coordinator) = (folder, coordinator)
    guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
      throw AgentError(
        .storage, "making the folder \(folder): \(String(cString: strerror(errno)))", errno: errno)
    }
  }

  /// What is there, in order.
  /// - Returns: the results, and what was wrong: a file that cannot be understood is kept aside. Those of another
  ///   coordinator stay where they are.
  /// - Throws: ``AgentError`` with code `.storage`, when one is there and cannot be read.
  func load() throws(AgentError) -> (entries: [Entry], problems: [String]) {
    var entries: [Entry] = []
    var problems: [String] = []
    let names: [String]
    do { names = try FileManager.default.contentsOfDirectory(atPath: folder) } catch {
      throw AgentError(.storage, "looking into \(folder): \(error)")
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
          problems.append("\(file.path) does not hold a result; it is kept as \(file.damagedPath)")
        }
      } catch {
        throw AgentError(error)
      }
    }
    return (entries, problems)
  }

  /// The number after all that are there, of whichever coordinator.
  func nextNumber() -> Int {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let numbers = names.compactMap { Self.number($0.hasSuffix(".damaged") ? String($0.dropLast(8)) : $0) }
    return (numbers.max() ?? 0) + 1
  }

  /// Keeps a result; when this returns it is on disk.
  /// - Throws: ``AgentError`` with code `.storage`.
  func keep(_ entry: Entry) throws(AgentError) {
    do {
      try file(entry.number).write(
        try JSONEncoder().encode(Contents(coordinator: coordinator, result: entry.result)))
    } catch let error as FileError {
      throw AgentError(error)
    } catch {
      throw AgentError(.storage, "\(error)")
    }
  }

  /// Forgets a result. One that comes back after a crash is sent once more, which the coordinator bears.
  func discard(_ number: Int) {
    unlink(file(number).path)
  }

  private func file(_ number: Int) -> WholeFile {
    WholeFile(path: "\(folder)/\(number).json", limit: Self.fileLimit)
  }

  private static func number(_ name: String) -> Int? {
    guard name.hasSuffix(".json"), let number = Int(name.dropLast(5)), number > 0 else { return nil }
    return number
  }
}
