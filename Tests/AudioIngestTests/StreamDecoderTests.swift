import AudioIngestTesting
import DeterministicTesting
import SystemTesting
import Testing

@testable import AudioIngest

@Suite("The stream decoder", .computing) struct StreamDecoderTests {
  /// Ten frames of 10 ms are made up, the rest is silence, and the next loss begins anew.
  @Test(
    "A loss has as many samples as the missing frames", arguments: [AudioCodec.opus10ms, .opus20ms, .pcm16k, .muLaw8k])
  func aLossIsAsLongAsItWas(_ codec: AudioCodec) throws {
    var decoder = try StreamDecoder(codec)
    var timeline = Timeline(sampleRate: decoder.codec.sampleRate)
    var samples: [Int16] = []
    var gaps: [AudioGap] = []
    let frames = encoded(codec, seconds: 1)
    for frame in frames { decoder.decode(.frame(frame[...]), on: &timeline, into: &samples, gaps: &gaps) }
    let start = samples.count
    decoder.decode(.lost(5), on: &timeline, into: &samples, gaps: &gaps)
    decoder.decode(.lost(20), on: &timeline, into: &samples, gaps: &gaps)
    decoder.decode(.frame(frames[0][...]), on: &timeline, into: &samples, gaps: &gaps)
    decoder.decode(.lost(1), on: &timeline, into: &samples, gaps: &gaps)

    let frame = codec.frameSamples
    let limit = codec.sampleRate / 10
    let first = 5 * frame
    #expect(
      gaps == [
        AudioGap(start: start, samples: first, concealed: first, reason: .lost),
        AudioGap(start: start + first, samples: 20 * frame, concealed: limit - first, reason: .lost),
        AudioGap(start: start + 26 * frame, samples: frame, concealed: frame, reason: .lost),
      ])
    #expect(samples.count == start + 27 * frame)
    #expect(timeline.decoded == samples.count)
    #expect(timeline.missing == 26 * frame)
    #expect(samples[(start + limit)..<(start + 25 * frame)].allSatisfy { $0 == 0 })
    #expect(samples[start..<(start + limit / 4)].contains { $0 != 0 })
  }

  @Test("A damaged frame becomes a gap of the same length") func aDamagedFrameIsAGap() throws {
    var decoder = try StreamDecoder(.opus20ms)
    var timeline = Timeline(sampleRate: decoder.codec.sampleRate)
    var samples: [Int16] = []
    var gaps: [AudioGap] = []
    decoder.decode(.frame([]), on: &timeline, into: &samples, gaps: &gaps)
    #expect(gaps == [AudioGap(start: 0, samples: 320, concealed: 320, reason: .damaged)])
    #expect(samples.count == 320)
  }

  /// From the air to the samples: whatever is lost, the recording is as long as what was said, and its gaps are where
  /// the losses were.
  @Test("A recording is as long as the audio sent, whatever is lost") func aRecordingIsAsLongAsWhatWasSaid() throws {
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
      var timeline = Timeline(sampleRate: decoder.codec.sampleRate)
      var samples: [Int16] = []
      var gaps: [AudioGap] = []
      for event in reassembler.events(received) { decoder.decode(event, on: &timeline, into: &samples, gaps: &gaps) }
      #expect(samples.count == frames.count * 320, "seed \(seed)")
      #expect(Set(gaps.flatMap { $0.start / 320..<$0.end / 320 }) == lost, "seed \(seed)")
    }
  }

  @Test("A gap is clipped to a range") func aGapIsCutToARange() {
    let gap = AudioGap(start: 100, samples: 50, concealed: 20, reason: .lost)
    #expect(gap.clipped(to: 110..<130) == AudioGap(start: 0, samples: 20, concealed: 10, reason: .lost))
    #expect(gap.clipped(to: 0..<110) == AudioGap(start: 100, samples: 10, concealed: 10, reason: .lost))
    #expect(gap.clipped(to: 130..<500) == AudioGap(start: 0, samples: 20, concealed: 0, reason: .lost))
    #expect(gap.clipped(to: 150..<500) == nil)
    #expect(gap.clipped(to: 0..<100) == nil)
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
