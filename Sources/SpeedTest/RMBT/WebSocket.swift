internal import Crypto
internal import FoundationEssentials

/// The frames that a server sends in the protocol's variant for browsers (RFC 6455).
package enum WebSocket {
  /// The kinds of frames.
  package enum Opcode: UInt8, Sendable {
    /// A further part of a message.
    case continuation = 0x0
    /// The first part of a message of text.
    case text = 0x1
    /// The first part of a message of bytes.
    case binary = 0x2
    /// The end of the connection.
    case close = 0x8
    /// The request of a pong with the same payload.
    case ping = 0x9
    /// The answer to a ping.
    case pong = 0xa

    var isControl: Bool { rawValue & 0x8 != 0 }
  }

  /// The frame that ends a connection in order.
  package static let close = frame(.close, [0x03, 0xe8])

  /// Returns the header of a frame that is a whole message.
  package static func header(_ opcode: Opcode, count: Int) -> [UInt8] {
    let first = 0x80 | opcode.rawValue
    func length(_ bytes: Int) -> [UInt8] { (1...bytes).map { UInt8(truncatingIfNeeded: count >> (8 * (bytes - $0))) } }
    return switch count {
    case ..<126: [first, UInt8(count)]
    case ..<65_536: [first, 126] + length(2)
    default: [first, 127] + length(8)
    }
  }

  /// Returns a frame that is a whole message.
  package static func frame(_ opcode: Opcode, _ payload: [UInt8]) -> [UInt8] {
    header(opcode, count: payload.count) + payload
  }

  /// Returns a frame of text for each line: a browser takes a message for one line.
  package static func frames(ofLines text: String) -> [UInt8] {
    text.split(separator: "\n").flatMap { frame(.text, Array("\($0)\n".utf8)) }
  }

  /// Returns the server's answer to the key in a browser's handshake.
  static func acceptance(of key: String) -> String {
    let digest = Insecure.SHA1.hash(data: Data((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))
    return Data(digest).base64EncodedString()
  }
}

/// A reader of a browser's frames, which arrive in pieces of any length.
///
/// The payload of a frame is passed on before the frame is complete, so that a frame of any length needs no memory. The
/// bounds of messages mean nothing in this protocol and are not reported.
struct WebSocketReader: Sendable {
  enum Piece: Sendable, Hashable {
    /// Payload without its mask.
    case payload([UInt8])
    case ping([UInt8])
    case close
  }

  private struct Frame {
    var opcode: WebSocket.Opcode
    var left: UInt64
    /// The mask, repeated, whose first byte belongs to the next byte of payload.
    var mask: UInt64
  }

  private var head: [UInt8] = []
  private var frame: Frame?
  private var control: [UInt8] = []
  /// A Boolean value that indicates whether a message waits for further parts.
  private var isFragmented = false

  /// The largest payload of a control frame in bytes.
  private static let controlLimit = 125

  /// Returns the next piece; `nil` when none is among the bytes.
  mutating func next(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int) throws(SpeedTestError) -> Piece? {
    while offset < bytes.count || frame?.left == 0 {
      guard let frame else {
        head.append(bytes[offset])
        offset += 1
        try readHead()
        continue
      }
      let count = Int(min(frame.left, UInt64(bytes.count - offset)))
      let payload = unmasked(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]))
      offset += count
      if let piece = piece(frame.opcode, payload) { return piece }
    }
    return nil
  }

  private mutating func piece(_ opcode: WebSocket.Opcode, _ payload: [UInt8]) -> Piece? {
    let isComplete = frame?.left == 0
    if isComplete { frame = nil }
    guard opcode.isControl else { return payload.isEmpty ? nil : .payload(payload) }
    control += payload
    guard isComplete else { return nil }
    defer { control = [] }
    return switch opcode {
    case .ping: .ping(control)
    case .close: .close
    default: nil
    }
  }

  private mutating func readHead() throws(SpeedTestError) {
    guard head.count >= 2 else { return }
    let lengths =
      switch head[1] & 0x7f {
      case 126: 2
      case 127: 8
      default: 0
      }
    if head.count == 2 { try checkHead() }
    guard head.count == 2 + lengths + 4, let opcode = WebSocket.Opcode(rawValue: head[0] & 0x0f) else { return }
    let length = head[2..<2 + lengths].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    guard length < 1 << 63 else { throw Self.malformed("a length above 2⁶³") }
    let mask = head.suffix(4).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    frame = Frame(opcode: opcode, left: lengths == 0 ? UInt64(head[1] & 0x7f) : length, mask: mask | mask << 32)
    if !opcode.isControl { isFragmented = head[0] & 0x80 == 0 }
    head.removeAll(keepingCapacity: true)
  }

  private func checkHead() throws(SpeedTestError) {
    guard head[0] & 0x70 == 0, let opcode = WebSocket.Opcode(rawValue: head[0] & 0x0f) else {
      throw Self.malformed("bits or an opcode that nothing has negotiated")
    }
    guard head[1] & 0x80 != 0 else { throw Self.malformed("no mask") }
    guard !opcode.isControl else {
      guard head[0] & 0x80 != 0, head[1] & 0x7f <= Self.controlLimit else {
        throw Self.malformed("a control message that is too long, or in parts")
      }
      return
    }
    guard isFragmented == (opcode == .continuation) else { throw Self.malformed("parts of a message out of order") }
  }

  private static func malformed(_ reason: String) -> SpeedTestError {
    SpeedTestError(.invalidReply, "a frame of the client has \(reason)")
  }

  /// Removes the mask from the next bytes of the frame.
  private mutating func unmasked(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    guard let mask = frame?.mask, !bytes.isEmpty else { return [] }
    frame?.left -= UInt64(bytes.count)
    // In steps of eight bytes: browsers upload as fast as the line is.
    let result = [UInt8](unsafeUninitializedCapacity: bytes.count) { buffer, count in
      let target = UnsafeMutableRawBufferPointer(buffer)
      let whole = bytes.count & ~7
      for index in stride(from: 0, to: whole, by: 8) {
        let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        target.storeBytes(of: word ^ mask.littleEndian, toByteOffset: index, as: UInt64.self)
      }
      for index in whole..<bytes.count {
        target[index] = bytes[index] ^ UInt8(truncatingIfNeeded: mask >> (8 * UInt64(index & 7)))
      }
      count = bytes.count
    }
    let turn = UInt64(8 * (bytes.count & 3))
    if turn > 0 { frame?.mask = mask >> turn | mask << (64 - turn) }
    return result
  }
}
