/// The layouts of a queue's file: a number of items (32 bits), their size (32 bits), the items, the hints.
enum QueueLayout: CaseIterable {
  /// Numbers in little-endian order, hints of 32 bytes, no checksum: 6448 bytes. Read only, and converted.
  case littleEndian
  /// The SHA-256 of the rest, numbers in big-endian order, hints of 16 bytes: 6352 bytes. The layout that is written.
  case checksummed

  private static let headerByteCount = 8
  private static let checksumByteCount = 32

  var hintByteCount: Int { self == .littleEndian ? 32 : MessageHint.byteCount }

  /// The size of every file of this layout.
  var fileByteCount: Int {
    (self == .checksummed ? Self.checksumByteCount : 0) + Self.headerByteCount
      + QueueContents.capacity * (SealedMessage.byteCount + hintByteCount)
  }

  /// The header of the only number and size of items that there are.
  private var header: [UInt8] {
    [QueueContents.capacity, SealedMessage.byteCount].flatMap { number in
      let bytes = withUnsafeBytes(of: UInt32(number).bigEndian) { Array($0) }
      return self == .littleEndian ? bytes.reversed() : bytes
    }
  }

  /// Returns the layout with files of this size, or `nil` if none has it.
  init?(fileByteCount: Int) {
    guard let layout = Self.allCases.first(where: { $0.fileByteCount == fileByteCount }) else { return nil }
    self = layout
  }

  /// Returns the file's bytes; `hints` are as long as the layout has them.
  func bytes(items: [SealedMessage], hints: [[UInt8]]) -> [UInt8] {
    let body = header + items.flatMap(\.bytes) + Array(hints.joined())
    return self == .checksummed ? Sodium.sha256(body) + body : body
  }

  /// Reads the file's bytes.
  /// - Throws: ``MessageSendingError`` with code `.damagedFile`.
  func parse(_ bytes: [UInt8]) throws(MessageSendingError) -> (items: [SealedMessage], hints: [[UInt8]]) {
    try checkSize(of: "the queue", bytes.count, fileByteCount, .damagedFile)
    var rest = bytes[...]
    if self == .checksummed {
      let checksum = rest.prefix(Self.checksumByteCount)
      rest = rest.dropFirst(Self.checksumByteCount)
      guard checksum.elementsEqual(Sodium.sha256(rest)) else {
        throw MessageSendingError(.damagedFile, "the checksum of the queue is wrong")
      }
    }
    guard rest.starts(with: header) else {
      throw MessageSendingError(
        .damagedFile,
        "the header of the queue is not that of \(QueueContents.capacity) items of \(SealedMessage.byteCount) bytes")
    }
    rest = rest.dropFirst(Self.headerByteCount)
    let items = (0..<QueueContents.capacity).map { _ in
      let item = SealedMessage(checked: Array(rest.prefix(SealedMessage.byteCount)))
      rest = rest.dropFirst(SealedMessage.byteCount)
      return item
    }
    let hints = (0..<QueueContents.capacity).map { _ in
      let hint = Array(rest.prefix(hintByteCount))
      rest = rest.dropFirst(hintByteCount)
      return hint
    }
    return (items, hints)
  }
}

extension QueueContents {
  /// The bytes of the file that is written.
  var fileBytes: [UInt8] { QueueLayout.checksummed.bytes(items: items, hints: hints.map(\.bytes)) }

  /// Reads a file of either layout; of hints of 32 bytes the first 16 are kept, which are ours.
  /// - Throws: ``MessageSendingError`` with code `.damagedFile`.
  init(fileBytes bytes: [UInt8]) throws(MessageSendingError) {
    guard let layout = QueueLayout(fileByteCount: bytes.count) else {
      throw MessageSendingError(
        .damagedFile, "the queue has \(bytes.count) bytes; required: \(QueueLayout.checksummed.fileByteCount)")
    }
    let (items, hints) = try layout.parse(bytes)
    var kept: [MessageHint] = []
    for hint in hints { kept.append(try MessageHint(bytes: Array(hint.prefix(MessageHint.byteCount)))) }
    self.init(checkedItems: items, hints: kept)
  }
}
