import SystemTesting
import Testing

@testable import AudioIngest

@Suite("Headers of WAV files", .computing) struct WAVHeaderTests {
  @Test("The header is the canonical one of 44 bytes") func itIsTheCanonicalOne() {
    let bytes = WAVHeader(sampleRate: 16_000, dataBytes: 0x0102_0304).bytes
    let expected =
      Array("RIFF".utf8) + [0x28, 0x03, 0x02, 0x01] + Array("WAVEfmt ".utf8) + [16, 0, 0, 0, 1, 0, 1, 0]
      + [0x80, 0x3e, 0, 0, 0, 0x7d, 0, 0, 2, 0, 16, 0] + Array("data".utf8) + [0x04, 0x03, 0x02, 0x01]
    #expect(bytes == expected)
    #expect(bytes.count == WAVHeader.length)
  }

  @Test("A header is read back as it was written") func itReadsWhatItWrites() {
    for (rate, data) in [(8000, 0), (16_000, 5_760_000), (48_000, WAVHeader.longestData)] {
      let header = WAVHeader(sampleRate: rate, dataBytes: data)
      #expect(WAVHeader(header.bytes + [1, 2, 3]) == header)
    }
  }

  @Test("Bytes that are not a canonical header are rejected") func itReadsNothingElse() {
    let bytes = WAVHeader(sampleRate: 16_000, dataBytes: 1000).bytes
    #expect(WAVHeader(bytes.dropLast()) == nil)
    for index in bytes.indices where !(24..<28).contains(index) && !(40..<44).contains(index) {
      var other = bytes
      other[index] ^= 0x55
      #expect(WAVHeader(other) == nil, "byte \(index)")
    }
  }
}
