/// Opus frames in an Ogg file (RFC 3533 and RFC 7845), for independent programs.
enum OggOpus {
  static func file(_ frames: [[UInt8]], samplesPerFrame48k: Int) -> [UInt8] {
    let head = Array("OpusHead".utf8) + [1, 1, 0, 0] + little(16_000, 4) + [0, 0, 0]
    let tags = Array("OpusTags".utf8) + little(4, 4) + Array("test".utf8) + little(0, 4)
    var file = page([head], position: 0, sequence: 0, flags: 2) + page([tags], position: 0, sequence: 1, flags: 0)
    let perPage = 40
    for (index, start) in stride(from: 0, to: frames.count, by: perPage).enumerated() {
      let end = min(start + perPage, frames.count)
      file += page(
        Array(frames[start..<end]), position: end * samplesPerFrame48k, sequence: index + 2,
        flags: end == frames.count ? 4 : 0)
    }
    return file
  }

  private static func page(_ packets: [[UInt8]], position: Int, sequence: Int, flags: UInt8) -> [UInt8] {
    let lacing = packets.flatMap { [UInt8](repeating: 255, count: $0.count / 255) + [UInt8($0.count % 255)] }
    var page = Array("OggS".utf8) + [0, flags] + little(position, 8) + little(1, 4) + little(sequence, 4)
    page += [0, 0, 0, 0, UInt8(lacing.count)] + lacing + packets.joined()
    page.replaceSubrange(22..<26, with: little(Int(checksum(page)), 4))
    return page
  }

  private static func little(_ value: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
  }

  private static func checksum(_ bytes: [UInt8]) -> UInt32 {
    bytes.reduce(0) { sum, byte in
      (0..<8).reduce(sum ^ UInt32(byte) << 24) { value, _ in value << 1 ^ (value >> 31 == 1 ? 0x04c1_1db7 : 0) }
    }
  }
}
