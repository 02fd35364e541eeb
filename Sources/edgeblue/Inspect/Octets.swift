/// Bytes from the air, read as little-endian numbers; what is not there is `nil`.
struct Octets: Sendable {
  private let all: [UInt8]

  init(_ all: [UInt8]) { self.all = all }

  func bytes(_ range: Range<Int>) -> [UInt8]? { range.upperBound <= all.count ? Array(all[range]) : nil }

  func u8(_ offset: Int) -> UInt8? { number(offset) }
  func i8(_ offset: Int) -> Int8? { u8(offset).map(Int8.init(bitPattern:)) }
  func u16(_ offset: Int) -> UInt16? { number(offset) }
  func i16(_ offset: Int) -> Int16? { u16(offset).map(Int16.init(bitPattern:)) }
  func u32(_ offset: Int) -> UInt32? { number(offset) }

  private func number<Number: FixedWidthInteger>(_ offset: Int) -> Number? {
    bytes(offset..<offset + Number.bitWidth / 8)?.reversed().reduce(0) { $0 << 8 | Number($1) }
  }
}
