internal import EdgeCoder

/// Cuts a byte stream into lines, however the network cut it into pieces.
///
/// Lines end in LF; a CR before it is dropped. Only whole lines are turned into text, so a character that arrives in two
/// pieces stays whole; bytes that are no UTF-8 become U+FFFD instead of ending the reply.
struct LineSplitter: Sendable {
  private let limit: Int
  private var pending: [UInt8] = []

  init(limit: Int) {
    self.limit = limit
  }

  /// Takes bytes in and returns the lines they complete.
  /// - Throws: ``EngineError`` `.badReply` when a line is longer than the limit; nothing more may be appended then.
  mutating func append(_ bytes: some Collection<UInt8>) throws -> [String] {
    var lines: [String] = []
    var rest = bytes[...]
    while let newline = rest.firstIndex(of: UInt8(ascii: "\n")) {
      let head = rest[..<newline]
      try checkRoom(for: head.count)
      pending.append(contentsOf: head)
      lines.append(takeLine())
      rest = rest[rest.index(after: newline)...]
    }
    try checkRoom(for: rest.count)
    pending.append(contentsOf: rest)
    return lines
  }

  /// The last line, when the stream ended without a line feed.
  mutating func finish() -> String? {
    pending.isEmpty ? nil : takeLine()
  }

  private mutating func takeLine() -> String {
    if pending.last == UInt8(ascii: "\r") { pending.removeLast() }
    defer { pending.removeAll(keepingCapacity: true) }
    return String(decoding: pending, as: UTF8.self)
  }

  private func checkRoom(for count: Int) throws {
    guard pending.count + count <= limit else {
      throw EngineError(.badReply, "the engine sent a line of more than \(limit) bytes")
    }
  }
}
