internal import CZlib

extension MuxFrame {
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

  /// The flag of a frame whose text is compressed.
  private static let deflated: UInt8 = 1
  /// The flag of an END with details.
  private static let detailed: UInt8 = 2
  /// The flag of an OPEN whose text is a form.
  private static let form: UInt8 = 4
  /// The first type of which unknown frames are ignored.
  private static let firstOptional: UInt8 = 0x80

  /// Returns the frame as bytes.
  /// - Parameter deflating: A Boolean value that indicates whether text is compressed where that makes it shorter.
  package func encoded(deflating: Bool = false) -> [UInt8] {
    switch self {
    case .hello(let terms): Self.bytes(.hello, 0, terms.encoded())
    case .welcome(let terms): Self.bytes(.welcome, 0, terms.encoded())
    case .open(let stream, let maxTokens, let length, let isForm, let text):
      Self.bytes(
        .open, stream, maxTokens.littleEndianBytes + length.littleEndianBytes, text, deflating,
        flags: isForm ? Self.form : 0)
    case .data(let stream, let text): Self.bytes(.data, stream, [], text, deflating)
    case .end(let stream, let status, let durationMs, let details, let text):
      Self.bytes(
        .end, stream, [status.rawValue] + durationMs.littleEndianBytes + Self.field(details), text, deflating,
        flags: details.isEmpty ? 0 : Self.detailed)
    case .credit(let stream, let bytes): Self.bytes(.credit, stream, bytes.littleEndianBytes)
    case .cancel(let stream): Self.bytes(.cancel, stream, [])
    case .progress(let stream, let ahead): Self.bytes(.progress, stream, ahead.littleEndianBytes)
    case .fail(let reason): Self.bytes(.fail, 0, Array(reason.utf8.prefix(Self.reasonLimit)))
    }
  }

  /// Returns details with their length; nothing for none.
  private static func field(_ details: [UInt8]) -> [UInt8] {
    details.isEmpty ? [] : UInt16(clamping: details.count).littleEndianBytes + details.prefix(Int(UInt16.max))
  }

  private static func bytes(
    _ kind: Kind, _ stream: UInt32, _ head: [UInt8], _ text: [UInt8] = [], _ deflating: Bool = false,
    flags: UInt8 = 0
  ) -> [UInt8] {
    let short = deflating ? Deflate.compressed(text) : nil
    var bytes: [UInt8] = []
    bytes.reserveCapacity(overhead + head.count + text.count)
    bytes += [kind.rawValue, flags | (short == nil ? 0 : deflated)]
    bytes += stream.littleEndianBytes
    bytes += head
    bytes += short ?? text
    bytes += checksum(bytes[...]).littleEndianBytes
    return bytes
  }

  /// Reads a frame.
  /// - Returns: `nil` for an optional frame of a later version.
  /// - Throws: ``MalformedFrame``, which closes the mux.
  static func decode(_ bytes: [UInt8]) throws(MalformedFrame) -> MuxFrame? {
    guard bytes.count >= overhead else {
      throw MalformedFrame(description: "a frame of \(bytes.count) bytes; allowed: \(overhead) or more")
    }
    let content = bytes.dropLast(4)
    var tail = FrameReader(bytes.suffix(4))
    guard try tail.number(UInt32.self) == checksum(content) else {
      throw MalformedFrame(description: "a frame with a wrong checksum")
    }
    var reader = FrameReader(content)
    let type = try reader.number(UInt8.self)
    let flags = try reader.number(UInt8.self)
    let stream = try reader.number(UInt32.self)
    guard let kind = Kind(rawValue: type) else {
      if type >= firstOptional { return nil }
      throw MalformedFrame(description: "a frame of unknown type \(type)")
    }
    guard flags & ~allowedFlags(of: kind) == 0 else {
      throw MalformedFrame(description: "a frame with unknown flags \(flags)")
    }
    let isDeflated = flags & deflated != 0
    let frame: MuxFrame
    switch kind {
    case .hello: frame = .hello(try MuxTerms(&reader))
    case .welcome: frame = .welcome(try MuxTerms(&reader))
    case .open: frame = try reader.open(stream, isForm: flags & form != 0, isDeflated: isDeflated)
    case .data:
      let text = try reader.text(isDeflated: isDeflated)
      // An empty DATA needs no credit, so it could be repeated without end.
      guard !text.isEmpty else { throw MalformedFrame(description: "DATA without text") }
      frame = .data(stream: stream, text: text)
    case .end:
      let number = try reader.number(UInt8.self)
      // A status of a later version is not a success either.
      let status = MuxStatus(rawValue: number) ?? .failed
      let durationMs = try reader.number(UInt32.self)
      let details = flags & detailed == 0 ? [] : try reader.field()
      let text = try reader.text(isDeflated: isDeflated)
      frame = .end(stream: stream, status: status, durationMs: durationMs, details: details, text: text)
    case .credit: frame = .credit(stream: stream, bytes: try reader.number(UInt32.self))
    case .cancel: frame = .cancel(stream: stream)
    case .progress: frame = .progress(stream: stream, ahead: try reader.number(UInt16.self))
    case .fail: frame = .fail(reason: String(decoding: reader.rest().prefix(reasonLimit), as: UTF8.self))
    }
    return frame
  }

  private static func allowedFlags(of kind: Kind) -> UInt8 {
    switch kind {
    case .open: deflated | form
    case .data: deflated
    case .end: deflated | detailed
    case .hello, .welcome, .credit, .cancel, .progress, .fail: 0
    }
  }

  /// Returns the CRC-32 of IEEE 802.3, as zlib computes it.
  static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    bytes.withUnsafeBufferPointer { UInt32(truncatingIfNeeded: crc32(0, $0.baseAddress, UInt32($0.count))) }
  }
}

extension MuxTerms {
  fileprivate func encoded() -> [UInt8] {
    [Self.version, (inflates ? 1 : 0) | (takesDetails ? 2 : 0) | (takesForms ? 4 : 0)] + window.littleEndianBytes
      + frameLimit.littleEndianBytes
  }

  /// Reads the known fields; further bytes belong to later versions and are ignored.
  fileprivate init(_ reader: inout FrameReader) throws(MalformedFrame) {
    let version = try reader.number(UInt8.self)
    guard version == Self.version else {
      throw MalformedFrame(description: "version \(version) of the protocol; allowed: \(Self.version)")
    }
    let features = try reader.number(UInt8.self)
    inflates = features & 1 != 0
    takesDetails = features & 2 != 0
    takesForms = features & 4 != 0
    window = try reader.number(UInt32.self)
    frameLimit = try reader.number(UInt16.self)
  }
}

/// A reader of little-endian numbers.
private struct FrameReader {
  private var bytes: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

  mutating func number<Number: FixedWidthInteger>(_: Number.Type) throws(MalformedFrame) -> Number {
    let size = Number.bitWidth / 8
    guard bytes.count >= size else { throw MalformedFrame(description: "a frame that is too short") }
    defer { bytes = bytes.dropFirst(size) }
    return bytes.prefix(size).reversed().reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
  }

  /// Reads bytes that follow their length.
  mutating func field() throws(MalformedFrame) -> [UInt8] {
    let count = Int(try number(UInt16.self))
    guard bytes.count >= count else { throw MalformedFrame(description: "a frame that is too short") }
    defer { bytes = bytes.dropFirst(count) }
    return Array(bytes.prefix(count))
  }

  mutating func rest() -> [UInt8] {
    defer { bytes = [] }
    return Array(bytes)
  }

  /// Reads the body of OPEN.
  mutating func open(_ stream: UInt32, isForm: Bool, isDeflated: Bool) throws(MalformedFrame) -> MuxFrame {
    let maxTokens = try number(UInt32.self)
    let length = try number(UInt32.self)
    return .open(
      stream: stream, maxTokens: maxTokens, length: length, isForm: isForm, text: try text(isDeflated: isDeflated))
  }

  /// Reads the rest as text, which it decompresses if it is compressed.
  mutating func text(isDeflated: Bool) throws(MalformedFrame) -> [UInt8] {
    let rest = rest()
    guard isDeflated else { return rest }
    guard let text = Deflate.expanded(rest, limit: Int(UInt16.max)) else {
      throw MalformedFrame(description: "a frame whose text cannot be decompressed")
    }
    return text
  }
}

extension FixedWidthInteger {
  fileprivate var littleEndianBytes: [UInt8] { withUnsafeBytes(of: littleEndian) { Array($0) } }
}
