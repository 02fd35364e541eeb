/// A decoder for PCM and µ-law, which conceals by repeating the last frame, softer each time.
final class SampleDecoder: FrameDecoder {
  enum Format { case pcm, muLaw }

  private let format: Format
  private let usualSamples: Int
  private var last: [Int16] = []
  /// The number of samples of the last frame that have been repeated.
  private var repeated = 0

  init(_ format: Format, usualSamples: Int) {
    self.format = format
    self.usualSamples = usualSamples
  }

  func decode(_ frame: ArraySlice<UInt8>, into samples: inout [Int16]) throws(AudioIngestError) {
    let start = samples.count
    switch format {
    case .muLaw:
      guard !frame.isEmpty else { throw AudioIngestError(.damagedFrame, "the µ-law frame is empty") }
      samples.append(contentsOf: frame.lazy.map { MuLaw.table[Int($0)] })
    case .pcm:
      guard !frame.isEmpty, frame.count.isMultiple(of: 2) else {
        throw AudioIngestError(.damagedFrame, "the PCM frame has \(frame.count) bytes; allowed: an even number above 0")
      }
      frame.withUnsafeBytes { bytes in
        samples.append(
          contentsOf: (0..<bytes.count / 2).lazy.map {
            Int16(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 2, as: Int16.self))
          })
      }
    }
    last.replaceSubrange(0..., with: samples[start...].suffix(usualSamples))
    repeated = 0
  }

  func conceal(_ count: Int, into samples: inout [Int16]) {
    // Silent after ten frames, 100 ms.
    let end = last.count * 10
    for _ in 0..<count {
      guard repeated < end else {
        samples.append(0)
        continue
      }
      samples.append(Int16(Int(last[repeated % last.count]) * (end - repeated) / end))
      repeated += 1
    }
  }

  func reset() {
    last.removeAll(keepingCapacity: true)
    repeated = 0
  }
}

/// The decoding table of ITU-T G.711: eight inverted bits with a sign, an exponent and a mantissa.
enum MuLaw {
  static let table: [Int16] = (0...255).map { code in
    let bits = ~UInt8(code)
    let magnitude = (Int(bits & 0x0f) << 3 + 0x84) << Int((bits >> 4) & 7) - 0x84
    return Int16(bits & 0x80 == 0 ? magnitude : -magnitude)
  }
}
