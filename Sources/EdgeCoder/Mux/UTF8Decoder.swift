/// A decoder of UTF-8 that was split anywhere: returns whole scalars, and keeps the start of an incomplete one.
struct UTF8Decoder {
  private var tail: [UInt8] = []

  /// Returns the text up to the last complete scalar.
  mutating func decode(_ bytes: [UInt8]) -> String {
    let all = tail + bytes
    // A scalar has at most four bytes, so its first byte is among the last four or it is complete.
    var end = all.count
    for index in all.indices.suffix(4).reversed() where all[index] & 0xc0 != 0x80 {
      let length = all[index] < 0x80 ? 1 : all[index] < 0xe0 ? 2 : all[index] < 0xf0 ? 3 : 4
      if index + length > all.count { end = index }
      break
    }
    tail = Array(all[end...])
    return String(decoding: all[..<end], as: UTF8.self)
  }

  /// Returns the incomplete scalar at the end of the text, replaced by U+FFFD; empty if there is none.
  mutating func finish() -> String {
    defer { tail = [] }
    return String(decoding: tail, as: UTF8.self)
  }
}
