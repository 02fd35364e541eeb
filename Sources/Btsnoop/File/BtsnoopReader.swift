/// Reads the records of a btsnoop file from its bytes, in pieces of any size.
///
/// ```swift
/// var reader = BtsnoopReader()
/// reader.append(bytes)  // the next bytes of the file
/// while let record = try reader.next() { print(record.kind, record.bytes.count) }
/// try reader.finish()  // after the last bytes
/// ```
///
/// It keeps the bytes of one record at most, besides those of the last piece.
public struct BtsnoopReader: Sendable {
  private var buffer: [UInt8] = []
  private var start = 0
  /// The kind of the file; `nil` before its header was read.
  public private(set) var format: BtsnoopFormat?
  /// The number of records that were read.
  public private(set) var count = 0

  /// Creates a reader at the beginning of a file.
  public init() {}

  /// Adds the next bytes of the file.
  public mutating func append(_ bytes: some Sequence<UInt8>) {
    if start > 0 {
      buffer.removeSubrange(..<start)
      start = 0
    }
    buffer.append(contentsOf: bytes)
  }

  /// Returns the next record; `nil` when more bytes are needed.
  /// - Throws: ``BtsnoopError``: `.notBtsnoop`, `.unsupported` or `.malformed`; nothing more can be read then.
  public mutating func next() throws(BtsnoopError) -> CaptureRecord? {
    if format == nil, try !readHeader() { return nil }
    guard let format, buffer.count - start >= BtsnoopFormat.recordHeaderLength else { return nil }
    let (original, included) = (number(start), number(start + 4))
    guard included <= UInt32(BtsnoopFormat.longestRecord), original >= included else {
      throw BtsnoopError(
        .malformed,
        "record \(count + 1) has \(included) of \(original) bytes; allowed: at most \(BtsnoopFormat.longestRecord)")
    }
    let end = start + BtsnoopFormat.recordHeaderLength + Int(included)
    guard buffer.count >= end else { return nil }
    let content = buffer[(start + BtsnoopFormat.recordHeaderLength)..<end]
    let (flags, drops) = (number(start + 8), number(start + 12))
    // Times of a file are numbers of any value: differences must not trap.
    let time = Int64(bitPattern: UInt64(number(start + 16)) << 32 | UInt64(number(start + 20)))
    start = end
    count += 1
    var record = CaptureRecord(
      time: time &- BtsnoopFormat.epoch, adapter: 0, kind: .event, bytes: [], originalLength: Int(original),
      drops: Int(drops))
    try fill(&record, format, flags, content)
    return record
  }

  /// Checks that the file has ended after a record.
  /// - Throws: ``BtsnoopError``: `.notBtsnoop` for a file without a header, `.truncated` for one that ends early.
  public func finish() throws(BtsnoopError) {
    let left = buffer.count - start
    if format == nil { throw Self.notBtsnoop }
    if left > 0 {
      throw BtsnoopError(.truncated, "the file ends within record \(count + 1), \(left) bytes after its beginning")
    }
  }

  private static let notBtsnoop = BtsnoopError(.notBtsnoop, "the file does not start with 'btsnoop'")

  private mutating func readHeader() throws(BtsnoopError) -> Bool {
    let known = min(buffer.count, BtsnoopFormat.magic.count)
    guard buffer[..<known].elementsEqual(BtsnoopFormat.magic[..<known]) else { throw Self.notBtsnoop }
    guard buffer.count >= BtsnoopFormat.headerLength else { return false }
    let (version, datalink) = (number(8), number(12))
    guard version == BtsnoopFormat.version else {
      throw BtsnoopError(.unsupported, "the version of the file is \(version); allowed: 1")
    }
    guard let format = BtsnoopFormat(rawValue: datalink) else {
      throw BtsnoopError(.unsupported, "the datalink of the file is \(datalink); allowed: 1001, 1002 and 2001")
    }
    self.format = format
    start = BtsnoopFormat.headerLength
    return true
  }

  private func fill(
    _ record: inout CaptureRecord, _ format: BtsnoopFormat, _ flags: UInt32, _ content: ArraySlice<UInt8>
  ) throws(BtsnoopError) {
    switch format {
    case .monitor:
      record.adapter = UInt16(truncatingIfNeeded: flags >> 16)
      record.kind = CaptureRecord.Kind(rawValue: UInt16(truncatingIfNeeded: flags))
      record.bytes = Array(content)
    case .hci:
      // Bit 0: received; bit 1: a command or an event.
      let isReceived = flags & 1 == 1
      record.kind =
        flags & 2 == 2 ? (isReceived ? .event : .command) : isReceived ? .receivedData : .sentData
      record.bytes = Array(content)
    case .uart:
      guard let type = content.first, let kind = BtsnoopFormat.uartKind(type, isReceived: flags & 1 == 1) else {
        throw BtsnoopError(
          .malformed,
          "record \(count) has \(content.first.map { "the type \($0)" } ?? "no type"); allowed: 1 to 5")
      }
      record.kind = kind
      record.bytes = Array(content.dropFirst())
      record.originalLength = max(record.originalLength - 1, record.bytes.count)
    }
  }

  /// The number at an offset, the most significant byte first.
  private func number(_ offset: Int) -> UInt32 {
    UInt32(buffer[offset]) << 24 | UInt32(buffer[offset + 1]) << 16 | UInt32(buffer[offset + 2]) << 8
      | UInt32(buffer[offset + 3])
  }
}
