import Foundation
import Testing

@testable import MessageSending

@Suite("Layouts of a queue's file")
struct QueueLayoutTests {
  static func items() throws -> [SealedMessage] {
    try (0..<8).map { try SealedMessage(bytes: [UInt8](repeating: $0, count: SealedMessage.byteCount)) }
  }

  static func hints(_ count: Int) -> [[UInt8]] { (0..<8).map { [UInt8](repeating: 0x80 + $0, count: count) } }

  static func hex(_ bytes: some Sequence<UInt8>) -> String { bytes.map { String(format: "%02x", $0) }.joined() }

  @Test("The little-endian layout is that of the vector, byte for byte")
  func littleEndian() throws {
    let bytes = QueueLayout.littleEndian.bytes(items: try Self.items(), hints: Self.hints(32))
    #expect(bytes.count == 6448)
    #expect(bytes.starts(with: [8, 0, 0, 0, 5, 3, 0, 0]))
    #expect(
      Self.hex(Sodium.sha256(bytes)) == "273799cf2aca2032588d2d2d83665496165d7952efed839d157efba593b02806")
    let read = try QueueLayout.littleEndian.parse(bytes)
    #expect(read.items == (try Self.items()))
    #expect(read.hints == Self.hints(32))
  }

  @Test("The checksummed layout is that of the vector, byte for byte, behind its SHA-256")
  func checksummed() throws {
    let bytes = QueueLayout.checksummed.bytes(items: try Self.items(), hints: Self.hints(16))
    #expect(bytes.count == 6352)
    #expect(bytes.dropFirst(32).starts(with: [0, 0, 0, 8, 0, 0, 3, 5]))
    let checksum = "2d4c28b42c9cb4665f977b52125e40c02c92cc7b1a893ce02b01218b919acd1e"
    #expect(Self.hex(bytes.prefix(32)) == checksum)
    #expect(Self.hex(Sodium.sha256(bytes.dropFirst(32))) == checksum)
    let read = try QueueLayout.checksummed.parse(bytes)
    #expect(read.items == (try Self.items()))
    #expect(read.hints == Self.hints(16))
  }

  @Test(
    "A hint is that of the vector",
    arguments: [
      ("message 1", "26e1b124062cb8f295babc6079a39b4c50b414fe8d666023a7b204ea143f1896"),
      ("message 2", "5fb74606349f30698901384ad3901a37ddf83534e54478e7395228ff6f66cee8"),
    ])
  func hint(text: String, code: String) throws {
    let key = try secret("secret__secret__")
    #expect(Self.hex(Sodium.hmac(key, try message(text).bytes)) == code)
    #expect(Self.hex(MessageHint(of: try message(text), secret: key).bytes) == String(code.prefix(32)))
  }

  @Test(
    "A hostile header is refused by its type",
    arguments: [
      [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], [0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff],
      [0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 8, 0, 0, 3, 6], [0, 0, 0, 9, 0, 0, 3, 5], [8, 0, 0, 0, 5, 3, 0, 0],
    ] as [[UInt8]])
  func hostileHeader(header: [UInt8]) throws {
    let layout = QueueLayout.checksummed
    let body = header + layout.bytes(items: try Self.items(), hints: Self.hints(16)).dropFirst(40)
    #expect(throws: MessageSendingError.self) { try layout.parse(Sodium.sha256(body) + body) }
    let old = QueueLayout.littleEndian
    let bytes = Array(header.reversed() + old.bytes(items: try Self.items(), hints: Self.hints(32)).dropFirst(8))
    let error = #expect(throws: MessageSendingError.self) { try QueueContents(fileBytes: bytes) }
    #expect(error?.code == .damagedFile)
  }
}
