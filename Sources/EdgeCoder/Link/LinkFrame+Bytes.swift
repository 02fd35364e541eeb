internal import CZlib

extension LinkFrame {
  private enum Kind: UInt8 {
    case hello = 0x01
    case welcome = 0x02
    case open = 0x10
    case data = 0x11
    case end = 0x12
    case credit = 0x13
    case cancel = 0x14
    case progress = 0x15
    case fail = 0x1f
  }

  /// In the flags: the text is compressed.
  private static let deflated: UInt8 = 1
  /// From this type on, a frame that is not known may be passed over.
  private static let firstOptional: UInt8 = 0x80

  /// The frame as bytes.
  /// - Parameter deflating: whether to compress text where that makes it shorter.
  func encoded(deflating: Bool = false) -> [UInt8] {
    switch self {
    case .hello(let terms): Self.bytes(.hello, 0, terms.encoded())
    case .welcome(let terms): Self.bytes(.welcome, 0, terms.encoded())
    case .open(let stream, let maxTokens, let length, let text):
      Self.bytes(.open, stream, maxTokens.littleEndianBytes + length.littleEndianBytes, text, deflating)
    case .data(let stream, let text): Self.bytes(.data, stream, [], text, deflating)
    case .end(let stream, let status, let durationMs, let text):
      Self.bytes(.end, stream, [status.rawValue] + durationMs.littleEndianBytes, text, deflating)
    case .credit(let stream, let bytes): Self.bytes(.credit, stream, bytes.littleEndianBytes)
    case .cancel(let stream): Self.bytes(.cancel, stream, [])
    case .progress(let stream, let ahead): Self.bytes(.progress, stream, ahead.littleEndianBytes)
    case .fail(let reason): Self.bytes(.fail, 0, Array(reason.utf8.prefix(Self.reasonLimit)))
    }
  }

  private static func bytes(
    _ kind: Kind, _ stream: UInt32, _ head: [UInt8], _ text: [UInt8] = [], _ deflating: Bool = false
  ) -> [UInt8] {
    let short = deflating ? Deflate.compressed(text) : nil
    var bytes: [UInt8] = []
    bytes.reserveCapacity(overhead + head.count + text.count)
    bytes += [kind.rawValue, short == nil ? 0 : deflated]
    bytes += stream.littleEndianBytes
    bytes += head
    bytes += short ?? text
    bytes += checksum(bytes[...]).littleEndianBytes
    return bytes
  }

  /// Reads a frame.
  /// - Returns: `nil` for a frame of a later version that may be passed over.
  static func decode(_ bytes: [UInt8]) throws(MalformedFrame) -> LinkFrame? {
    guard bytes.count >= overhead else { throw MalformedFrame(description: "a frame of \(bytes.count) bytes") }
    let content = bytes.dropLast(4)
    var tail = FrameReader(bytes.suffix(4))
    guard try tail.number(UInt32.self) == checksum(content) else {
      throw MalformedFrame(description: "a frame whose checksum is wrong")
    }
    var reader = FrameReader(content)
    let (type, flags) = (try reader.number(UInt8.self), try reader.number(UInt8.self))
    let stream = try reader.number(UInt32.self)
    guard let kind = Kind(rawValue: type) else {
      if type >= firstOptional { return nil }
      throw MalformedFrame(description: "a frame of unknown type \(type)")
    }
    guard flags & ~deflated == 0 else { throw MalformedFrame(description: "a frame with unknown flags \(flags)") }
    func text() throws(MalformedFrame) -> [UInt8] {
      let rest = reader.rest()
      guard flags & deflated != 0 else { return rest }
      guard let text = Deflate.expanded(rest, limit: Int(UInt16.max)) else {
        throw MalformedFrame(description: "a frame whose text cannot be decompressed")
      }
      return text
    }
    let frame: LinkFrame
    switch kind {
    case .hello: frame = .hello(try LinkTerms(&reader))
    case .welcome: frame = .welcome(try LinkTerms(&reader))
    case .open:
      let (maxTokens, length) = (try reader.number(UInt32.self), try reader.number(UInt32.self))
      frame = .open(stream: stream, maxTokens: maxTokens, length: length, text: try text())
    case .data:
      let text = try text()
      // It costs no credit, so it could be sent for ever.
      guard !text.isEmpty else { throw MalformedFrame(description: "DATA without text") }
      frame = .data(stream: stream, text: text)
    case .end:
      let number = try reader.number(UInt8.self)
      // A status of a later version is still no success.
      let status = LinkStatus(rawValue: number) ?? .failed
      frame = .end(stream: stream, status: status, durationMs: try reader.number(UInt32.self), text: try text())
    case .credit: frame = .credit(stream: stream, bytes: try reader.number(UInt32.self))
    case .cancel: frame = .cancel(stream: stream)
    case .progress: frame = .progress(stream: stream, ahead: try reader.number(UInt16.self))
    case .fail: frame = .fail(reason: String(decoding: reader.rest().prefix(reasonLimit), as: UTF8.self))
    }
    return frame
  }

  /// CRC-32 as in IEEE 802.3 and zlib.
  private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    bytes.withUnsafeBufferPointer { UInt32(truncatingIfNeeded: crc32(0, $0.baseAddress, UInt32($0.count))) }
  }
}

extension LinkTerms {
  fileprivate func encoded() -> [UInt8] {
    [Self.version, inflates ? 1 : 0] + window.littleEndianBytes + frameLimit.littleEndianBytes
  }

  /// What follows the known fields belongs to later versions and is passed over.
  fileprivate init(_ reader: inout FrameReader) throws(MalformedFrame) {
    let version = try reader.number(UInt8.self)
    guard version == Self.version else { throw MalformedFrame(description: "version \(version) of the protocol") }
    inflates = try reader.number(UInt8.self) & 1 != 0
    window = try reader.number(UInt32.self)
    frameLimit = try reader.number(UInt16.self)
  }
}

/// Reads numbers off the front of some bytes.
private struct FrameReader {
  private var bytes: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

  mutating func number<Number: FixedWidthInteger>(_: Number.Type) throws(MalformedFrame) -> Number {
    let size = Number.bitWidth / 8
    guard bytes.count >= size else { throw MalformedFrame(description: "a frame that is too short") }
    defer { bytes = bytes.dropFirst(size) }
    return bytes.prefix(size).reversed().reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
  }

  mutating func rest() -> [UInt8] {
    defer { bytes = [] }
    return Array(bytes)
  }
}

extension FixedWidthInteger {
  fileprivate var littleEndianBytes: [UInt8] { withUnsafeBytes(of: littleEndian) { Array($0) } }
}
