/// PCM and µ-law: every sample stands for itself, and what is missing is the last frame again, more softly each time.
final class SampleDecoder: FrameDecoder {
  enum Format { case pcm, muLaw }

  private let format: Format
  private let usualSamples: Int
  private var last: [Int16] = []
  /// How many samples of the last frame were repeated so far.
  private var repeated = 0

  init(_ format: Format, usualSamples: Int) {
    self.format = format
    self.usualSamples = usualSamples
  }

  func decode(_ frame: ArraySlice<UInt8>, into samples: inout [Int16]) throws(AudioIngestError) {
    let start = samples.count
    switch format {
    case .muLaw:
      guard !frame.isEmpty else { throw AudioIngestError(.damagedFrame, "an empty frame") }
      samples.append(contentsOf: frame.lazy.map { MuLaw.table[Int($0)] })
    case .pcm:
      guard !frame.isEmpty, frame.count.isMultiple(of: 2) else {
        throw AudioIngestError(.damagedFrame, "a frame of \(frame.count) bytes, which are no whole samples")
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
    // It is gone after ten frames, 100 ms.
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

/// ITU-T G.711: eight bits, a sign, an exponent and a mantissa, all of them inverted.
enum MuLaw {
  static let table: [Int16] = (0...255).map { code in
    let bits = ~UInt8(code)
    let magnitude = (Int(bits & 0x0f) << 3 + 0x84) << Int((bits >> 4) & 7) - 0x84
    return Int16(bits & 0x80 == 0 ? magnitude : -magnitude)
  }
}
