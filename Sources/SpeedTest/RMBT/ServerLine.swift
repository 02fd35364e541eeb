/// A line that a server sends.
package enum ServerLine: Sendable, Hashable {
  /// The greeting with the protocol's version.
  case greeting(version: String)
  /// The commands that the server accepts now.
  case accept([String])
  /// The confirmation of a token or an upload.
  case ok
  /// The refusal of a command or a token.
  case err
  /// The chunk sizes that the server announces.
  case chunkSizes(RMBT.ChunkLimits)
  /// The server's time since the start of an exchange, with the bytes received so far in an upload's reports.
  case time(nanoseconds: UInt64, bytes: UInt64?)
  /// The answer to PING.
  case pong
  /// The answer to QUIT.
  case bye

  /// Parses a line. Fields behind those that the protocol defines are ignored.
  /// - Throws: ``SpeedTestError`` with code `.invalidReply` for a line that no server sends.
  package init(_ line: String) throws(SpeedTestError) {
    let words = line.split(separator: " ").map(String.init)
    switch words.first {
    case "ACCEPT": self = .accept(Array(words.dropFirst()))
    case "OK": self = .ok
    case "ERR": self = .err
    case "PONG": self = .pong
    case "BYE": self = .bye
    case "CHUNKSIZE": self = .chunkSizes(try Self.chunkSizes(words, line))
    case "TIME":
      guard words.count > 1, let time = Self.number(words[1]) else { throw Self.unexpected(line) }
      guard words.count > 3, words[2] == "BYTES" else {
        self = .time(nanoseconds: time, bytes: nil)
        return
      }
      guard let bytes = Self.number(words[3]) else { throw Self.unexpected(line) }
      self = .time(nanoseconds: time, bytes: bytes)
    case .some(let first) where first.hasPrefix("RMBTv"): self = .greeting(version: String(first.dropFirst(5)))
    default: throw Self.unexpected(line)
    }
  }

  /// Without the smallest and the largest size, as one server sends it, the default is the only size.
  private static func chunkSizes(_ words: [String], _ line: String) throws(SpeedTestError) -> RMBT.ChunkLimits {
    let sizes = words.dropFirst().prefix(3).compactMap(number)
    let bounds = RMBT.chunkSizes
    guard sizes.count == min(words.count - 1, 3), let standard = sizes.first.map(Int.init(clamping:)),
      bounds.contains(standard)
    else { throw unexpected(line) }
    guard sizes.count == 3 else { return RMBT.ChunkLimits(standard: standard, allowed: standard...standard) }
    let smallest = max(Int(clamping: sizes[1]), bounds.lowerBound)
    let largest = min(Int(clamping: sizes[2]), bounds.upperBound)
    guard smallest <= standard, standard <= largest else { throw unexpected(line) }
    return RMBT.ChunkLimits(standard: standard, allowed: smallest...largest)
  }

  /// A number in digits alone; `UInt64.init` also takes a sign.
  private static func number(_ text: String) -> UInt64? {
    text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? UInt64(text) : nil
  }

  /// Returns the error for a line that does not belong here.
  package static func unexpected(_ line: String) -> SpeedTestError {
    SpeedTestError(.invalidReply, "the server sent '\(line.prefix(60))', which is not allowed here")
  }
}
