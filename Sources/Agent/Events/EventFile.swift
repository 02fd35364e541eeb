import DurableFiles
internal import ErrorReporting
import FoundationEssentials

/// The file of an ``EventLog``: a JSON object in each line.
enum EventFile {
  /// Returns the events of a file, in order; none if the file does not exist or cannot be read.
  static func read(_ path: String) -> [AgentEvent] {
    // The log is for display: an unreadable file must not keep the agent from starting.
    guard let bytes = try? tail(of: path) else { return [] }
    let decoder = JSONDecoder()
    return bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
      // A torn line, or one of another program, is no event.
      try? decoder.decode(AgentEvent.self, from: Data(line))
    }.filter { (1..<Int(Int32.max)).contains($0.number) }
  }

  /// Returns the end of a file: the agent's own is not longer, and another program's may be.
  private static func tail(of path: String) throws(FileError) -> [UInt8] {
    let disk = Disk()
    guard try disk.exists(path) else { return [] }
    let limit = 2 * EventLog.fileLimit
    let file = try GrowingFile(path, on: disk, isContinued: true)
    return try file.read(at: max(0, file.length - limit), limit)
  }

  /// Appends an event in a line of its own.
  /// - Parameters:
  ///   - isTorn: Whether the file may end in the middle of a line.
  ///   - limit: The largest size of the file in bytes; a larger one is renamed, and a new one started.
  static func append(_ event: AgentEvent, to path: String, isTorn: Bool, limit: Int) throws(AgentError) {
    var line: [UInt8]
    do {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      line = Array(try encoder.encode(event)) + [UInt8(ascii: "\n")]
    } catch {
      throw AgentError(.storage, "encoding an event: \(error.safeText)")
    }
    do throws(FileError) {
      // Opened each time: events are rare, and the user may remove the file.
      let disk = Disk()
      var file = try GrowingFile(path, on: disk, isContinued: true)
      if file.length + line.count > limit {
        try disk.rename(path, to: path + ".1")
        file = try GrowingFile(path, on: disk)
      }
      if isTorn, file.length > 0, try file.read(at: file.length - 1, 1) != [UInt8(ascii: "\n")] {
        line.insert(UInt8(ascii: "\n"), at: 0)
      }
      try file.append(line)
    } catch {
      throw AgentError(error)
    }
  }
}
