import FoundationEssentials
import Glibc

/// The file of an ``EventLog``.
enum EventFile {
  /// The events of a file, in order; none when it is not there.
  static func read(_ path: String) -> [AgentEvent] {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return [] }
    defer { close(file) }
    // A file of ours is not longer; of another's the end counts, as it does of ours.
    let limit = 2 * EventLog.fileLimit
    lseek(file, max(0, lseek(file, 0, SEEK_END) - limit), SEEK_SET)
    let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      count = max(0, Glibc.read(file, buffer.baseAddress, limit))
    }
    let decoder = JSONDecoder()
    return bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
      // What is torn or another's is no event.
      try? decoder.decode(AgentEvent.self, from: Data(line))
    }.filter { (1..<Int(Int32.max)).contains($0.number) }
  }

  /// Adds a line.
  /// - Parameters:
  ///   - isTorn: whether the file may end in the middle of a line.
  ///   - limit: how long the file may be, in bytes.
  static func append(_ event: AgentEvent, to path: String, isTorn: Bool, limit: Int) throws(AgentError) {
    var line: [UInt8]
    do {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      line = Array(try encoder.encode(event)) + [UInt8(ascii: "\n")]
    } catch {
      throw AgentError(.storage, "\(error)")
    }
    // Opened each time: events are rare, and a person may take the file away.
    let file = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure("opening \(path)") }
    defer { close(file) }
    let length = lseek(file, 0, SEEK_END)
    if length + line.count > limit {
      guard rename(path, path + ".1") == 0 else { throw failure("renaming \(path)") }
      return try append(event, to: path, isTorn: false, limit: limit)
    }
    if isTorn, length > 0 {
      var last: UInt8 = 0
      if pread(file, &last, 1, length - 1) == 1, last != UInt8(ascii: "\n") { line.insert(UInt8(ascii: "\n"), at: 0) }
    }
    let count = Glibc.write(file, line, line.count)
    guard count == line.count else { throw failure("writing \(path)", count < 0 ? errno : ENOSPC) }
  }

  private static func failure(_ phase: String, _ number: Int32 = errno) -> AgentError {
    AgentError(.storage, "\(phase): \(String(cString: strerror(number)))", errno: number)
  }
}
