/// The header of a canonical WAV file: 44 bytes with RIFF, `fmt ` and `data`, for PCM of 16 bits and one channel.
///
/// ```swift
/// let header = WAVHeader(sampleRate: 16_000, dataBytes: 32_000)
/// print(header.samples, WAVHeader(header.bytes) == header)  // 16000 true
/// ```
public struct WAVHeader: Sendable, Hashable {
  /// The length of the header in bytes.
  public static let length = 44
  /// The largest number of bytes of samples in a file: the header's sizes have 32 bits.
  public static let longestData = Int(UInt32.max) - 36

  /// The number of samples per second.
  public var sampleRate: Int
  /// The number of bytes of the samples that follow.
  public var dataBytes: Int

  /// Creates a header from the rate and size of the samples.
  public init(sampleRate: Int, dataBytes: Int) {
    self.sampleRate = sampleRate
    self.dataBytes = dataBytes
  }

  /// The number of samples that follow.
  public var samples: Int { dataBytes / 2 }

  /// The bytes of the header; sizes out of range are clamped.
  public var bytes: [UInt8] {
    let data = UInt32(clamping: min(dataBytes, Self.longestData))
    let rate = UInt32(clamping: sampleRate)
    var bytes = Array("RIFF".utf8) + (data + 36).littleEndianBytes + Array("WAVEfmt ".utf8)
    bytes += UInt32(16).littleEndianBytes + [1, 0, 1, 0] + rate.littleEndianBytes
    bytes += UInt32(clamping: sampleRate * 2).littleEndianBytes + [2, 0, 16, 0]
    return bytes + Array("data".utf8) + data.littleEndianBytes
  }

  /// Creates a header from the start of a file.
  /// - Returns: `nil` if the bytes are not a canonical header as ``bytes`` returns it.
  public init?(_ bytes: some Sequence<UInt8>) {
    let bytes = Array(bytes.prefix(Self.length))
    guard bytes.count == Self.length else { return nil }
    func number(_ offset: Int) -> Int { (0..<4).reduce(0) { $0 | Int(bytes[offset + $1]) << ($1 * 8) } }
    self.init(sampleRate: number(24), dataBytes: number(40))
    guard self.bytes == bytes else { return nil }
  }
}

extension UInt32 {
  fileprivate var littleEndianBytes: [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) } }
}
