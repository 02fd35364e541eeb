import DeterministicTesting
import Testing

@testable import AudioIngest

@Suite(.computing) struct StreamDecoderTests {
  /// Ten frames of 10 ms are made up, the rest is silence, and the next loss begins anew.
  @Test(arguments: [AudioCodec.opus10ms, .opus20ms, .pcm16k, .muLaw8k])
  func aLossIsAsLongAsItWas(_ codec: AudioCodec) throws {
    var decoder = try StreamDecoder(codec)
    var samples: [Int16] = []
    var gaps: [AudioGap] = []
    let frames = encoded(codec, seconds: 1)
    for frame in frames { decoder.take(.frame(frame[...]), into: &samples, gaps: &gaps) }
    let start = samples.count
    decoder.take(.lost(5), into: &samples, gaps: &gaps)
    decoder.take(.lost(20), into: &samples, gaps: &gaps)
    decoder.take(.frame(frames[0][...]), into: &samples, gaps: &gaps)
    decoder.take(.lost(1), into: &samples, gaps: &gaps)

    let (frame, limit) = (codec.frameSamples, codec.sampleRate / 10)
    let first = 5 * frame
    #expect(
      gaps == [
        AudioGap(start: start, samples: first, concealed: first, reason: .lost),
        AudioGap(start: start + first, samples: 20 * frame, concealed: limit - first, reason: .lost),
        AudioGap(start: start + 26 * frame, samples: frame, concealed: frame, reason: .lost),
      ])
    #expect(samples.count == start + 27 * frame && decoder.position == samples.count)
    #expect(decoder.missing == 26 * frame)
    #expect(samples[(start + limit)..<(start + 25 * frame)].allSatisfy { $0 == 0 })
    #expect(samples[start..<(start + limit / 4)].contains { $0 != 0 })
  }

  @Test func aDamagedFrameIsAGap() throws {
    var decoder = try StreamDecoder(.opus20ms)
    var samples: [Int16] = []
    var gaps: [AudioGap] = []
    decoder.take(.frame([]), into: &samples, gaps: &gaps)
    #expect(gaps == [AudioGap(start: 0, samples: 320, concealed: 320, reason: .damaged)] && samples.count == 320)
  }

  /// From the air to the samples: whatever is lost, the recording is as long as what was said, and its gaps are where
  /// the losses were.
  @Test func aRecordingIsAsLongAsWhatWasSaid() throws {
    let frames = encoded(.opus20ms, seconds: 4)
    for seed in 0..<60 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      var sender = FakeSender(number: UInt16.random(in: 0...(.max), using: &random))
      let sent = frames.map { sender.notifications($0) }
      let lost = Set((1..<(frames.count - 1)).filter { _ in Int.random(in: 0..<8, using: &random) == 0 })
      let arrived = sent.indices.filter { !lost.contains($0) }.map { sent[$0] }
      var received = arrived.flatMap { $0 + $0.prefix(1) }
      for index in stride(from: 4, to: received.count - 4, by: 7) { received.swapAt(index, index + 2) }

      var reassembler = FrameReassembler(.omi)
      var decoder = try StreamDecoder(.opus20ms)
      var samples: [Int16] = []
      var gaps: [AudioGap] = []
      for event in reassembler.events(received) { decoder.take(event, into: &samples, gaps: &gaps) }
      #expect(samples.count == frames.count * 320, "seed \(seed)")
      #expect(Set(gaps.flatMap { $0.start / 320..<$0.end / 320 }) == lost, "seed \(seed)")
    }
  }

  @Test func aGapIsCutToARange() {
    let gap = AudioGap(start: 100, samples: 50, concealed: 20, reason: .lost)
    #expect(gap.clipped(to: 110..<130) == AudioGap(start: 0, samples: 20, concealed: 10, reason: .lost))
    #expect(gap.clipped(to: 0..<110) == AudioGap(start: 100, samples: 10, concealed: 10, reason: .lost))
    #expect(gap.clipped(to: 130..<500) == AudioGap(start: 0, samples: 20, concealed: 0, reason: .lost))
    #expect(gap.clipped(to: 150..<500) == nil && gap.clipped(to: 0..<100) == nil)
  }

  private func encoded(_ codec: AudioCodec, seconds: Int) -> [[UInt8]] {
    let sound = voiceLikeSound(samples: seconds * codec.sampleRate, rate: codec.sampleRate)
    switch codec {
    case .opus10ms, .opus20ms: return OpusEncoder(codec).frames(sound)
    case .pcm16k, .pcm8k:
      let bytes = sound.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
      let length = codec.frameSamples * 2
      return stride(from: 0, to: bytes.count, by: length).map { Array(bytes[$0..<($0 + length)]) }
    case .muLaw16k, .muLaw8k:
      return [[UInt8]](repeating: (0..<codec.frameSamples).map { UInt8($0 & 0x7f) }, count: seconds * 100)
    }
  }
}
