/// A line that a client sends.
package enum ClientLine: Sendable, Hashable {
  /// The token that authorises the connection.
  case token(String)
  /// The request of a number of chunks.
  case getChunks(Int, size: Int?)
  /// The request of chunks for a number of seconds.
  case getTime(Int, size: Int?)
  /// The announcement of chunks, which the server reports while they arrive.
  case put(size: Int?)
  /// The announcement of chunks without reports.
  case putNoResult(size: Int?)
  /// The request of a round trip.
  case ping
  /// The confirmation of chunks or of a PONG.
  case ok
  /// The end of the connection.
  case quit

  /// Parses a line; returns `nil` for what no client may send, such as a number out of range.
  package init?(_ line: String) {
    let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    let numbers = words.dropFirst().map(Self.number)
    func size(at index: Int) -> Int?? {
      guard numbers.count > index else { return .some(nil) }
      guard let size = numbers[index], RMBT.chunkSizes.contains(size) else { return nil }
      return size
    }
    switch (words[0], numbers.count) {
    case ("TOKEN", 1) where !words[1].isEmpty: self = .token(words[1])
    case ("GETCHUNKS", 1...2):
      guard let count = numbers[0], RMBT.chunkCounts.contains(count), let size = size(at: 1) else { return nil }
      self = .getChunks(count, size: size)
    case ("GETTIME", 1...2):
      guard let seconds = numbers[0], RMBT.downloadSeconds.contains(seconds), let size = size(at: 1) else { return nil }
      self = .getTime(seconds, size: size)
    case ("PUT", 0...1):
      guard let size = size(at: 0) else { return nil }
      self = .put(size: size)
    case ("PUTNORESULT", 0...1):
      guard let size = size(at: 0) else { return nil }
      self = .putNoResult(size: size)
    case ("PING", 0): self = .ping
    case ("OK", 0): self = .ok
    case ("QUIT", 0): self = .quit
    default: return nil
    }
  }

  private static func number(_ text: String) -> Int? {
    text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
  }

  /// The line without its line feed.
  package var text: String {
    switch self {
    case .token(let token): "TOKEN \(token)"
    case .getChunks(let count, let size): "GETCHUNKS \(count)" + Self.suffix(size)
    case .getTime(let seconds, let size): "GETTIME \(seconds)" + Self.suffix(size)
    case .put(let size): "PUT" + Self.suffix(size)
    case .putNoResult(let size): "PUTNORESULT" + Self.suffix(size)
    case .ping: "PING"
    case .ok: "OK"
    case .quit: "QUIT"
    }
  }

  private static func suffix(_ size: Int?) -> String { size.map { " \($0)" } ?? "" }
}
