internal import EdgeCoder

/// A splitter of a byte stream into lines.
///
/// Lines end in LF; a CR before it is dropped. Only whole lines are decoded, so a character that arrives in two chunks
/// stays whole. Malformed UTF-8 becomes U+FFFD.
struct LineSplitter: Sendable {
  private let limit: Int
  private var pending: [UInt8] = []

  init(limit: Int) {
    self.limit = limit
  }

  /// Adds bytes and returns the lines that they complete.
  /// - Throws: ``EngineError`` `.badReply` for a line over the limit, after which no bytes may be added.
  mutating func append(_ bytes: some Collection<UInt8>) throws -> [String] {
    var lines: [String] = []
    var rest = bytes[...]
    while let newline = rest.firstIndex(of: UInt8(ascii: "\n")) {
      let head = rest[..<newline]
      try checkLimit(for: head.count)
      pending.append(contentsOf: head)
      lines.append(takeLine())
      rest = rest[rest.index(after: newline)...]
    }
    try checkLimit(for: rest.count)
    pending.append(contentsOf: rest)
    return lines
  }

  /// Returns the last line if the stream ended without a line feed.
  mutating func finish() -> String? {
    pending.isEmpty ? nil : takeLine()
  }

  private mutating func takeLine() -> String {
    if pending.last == UInt8(ascii: "\r") { pending.removeLast() }
    defer { pending.removeAll(keepingCapacity: true) }
    return String(decoding: pending, as: UTF8.self)
  }

  private func checkLimit(for count: Int) throws {
    guard pending.count + count <= limit else {
      throw EngineError(.badReply, "the engine sent a line of more than \(limit) bytes")
    }
  }
}
