/// The 44 bytes before the samples of a canonical WAV file: RIFF, `fmt ` and `data`, PCM of 16 bit, one channel.
public struct WAVHeader: Sendable, Hashable {
  /// Its length in bytes.
  public static let length = 44
  /// The sizes in it are of 32 bit, so this is the longest file's bytes of samples.
  public static let longestData = Int(UInt32.max) - 36

  /// Samples a second.
  public var sampleRate: Int
  /// The bytes of the samples that follow.
  public var dataBytes: Int

  /// Describes a file.
  public init(sampleRate: Int, dataBytes: Int) {
    self.sampleRate = sampleRate
    self.dataBytes = dataBytes
  }

  /// How many samples follow.
  public var samples: Int { dataBytes / 2 }

  /// The header as it stands in the file; sizes that do not fit are the largest that do.
  public var bytes: [UInt8] {
    let data = UInt32(clamping: min(dataBytes, Self.longestData))
    let rate = UInt32(clamping: sampleRate)
    return Array("RIFF".utf8) + (data + 36).littleEndianBytes + Array("WAVEfmt ".utf8)
      + UInt32(16).littleEndianBytes + [1, 0, 1, 0]
      + rate.littleEndianBytes + UInt32(clamping: sampleRate * 2).littleEndianBytes + [2, 0, 16, 0]
      + Array("data".utf8) + data.littleEndianBytes
  }

  /// Reads a header as it is written here.
  /// - Returns: `nil` for any other kind of file.
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
