import AudioIngestTesting
import DeterministicTesting
import Foundation
import SystemTesting
import Testing

@testable import AudioIngest

@Suite("Audio codecs", .computing) struct CodecTests {
  @Test("The identifiers of codecs are those of the Omi family") func identifiersAreThoseOfTheOmiFamily() throws {
    let known: [UInt8: AudioCodec] = [
      0: .pcm16k, 1: .pcm8k, 10: .muLaw16k, 11: .muLaw8k, 20: .opus10ms, 21: .opus20ms,
    ]
    for identifier in UInt8.min...UInt8.max {
      #expect((try? AudioCodec(omiValue: [identifier, 99])) == known[identifier])
    }
    #expect { try AudioCodec(omiValue: []) } throws: { ($0 as? AudioIngestError)?.code == .unknownCodec }
  }

  @Test("The duration of a frame is that of its samples", arguments: AudioCodec.allCases)
  func aFrameLastsAsLongAsItsSamples(_ codec: AudioCodec) {
    #expect(codec.frameDuration == (codec == .opus20ms ? .milliseconds(20) : .milliseconds(10)))
  }

  @Test("PCM is decoded without change", arguments: [AudioCodec.pcm16k, .pcm8k])
  func pcmIsWhatCameIn(_ codec: AudioCodec) throws {
    let sound = voiceLikeSound(samples: 1600, rate: codec.sampleRate) + [.min, .max, 0, -1, 1]
    let bytes = sound.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
    var samples: [Int16] = []
    let decoder = try codec.makeDecoder()
    // In pieces that begin anywhere in a buffer.
    var rest = bytes[...]
    while !rest.isEmpty {
      try decoder.decode(rest.prefix(322), into: &samples)
      rest = rest.dropFirst(322)
    }
    #expect(samples == sound)
    #expect(throws: AudioIngestError.self) { try decoder.decode([1, 2, 3], into: &samples) }
    #expect(throws: AudioIngestError.self) { try decoder.decode([], into: &samples) }
  }

  /// The values of ITU-T G.711, table 2, on the scale of 16 bit.
  @Test("The µ-law table is that of ITU-T G.711") func muLawIsThatOfTheStandard() {
    let known: [(UInt8, Int16)] = [
      (0xff, 0), (0x7f, 0), (0xfe, 8), (0x80, 32_124), (0x00, -32_124), (0xf0, 120), (0xef, 132), (0x8f, 16_764),
    ]
    for (code, value) in known { #expect(MuLaw.table[Int(code)] == value) }
    #expect(MuLaw.table[128...] == MuLaw.table[128...].sorted(by: >)[...])
  }

  /// opusdec decodes at 48 kHz, so it is compared there. It rounds floating point by itself: one step is allowed.
  @Test(
    "Opus is decoded as by opusdec",
    .enabled(if: ChildProcess.path(of: "opusdec") != nil, "needs opusdec"),
    arguments: [AudioCodec.opus10ms, .opus20ms])
  func opusIsWhatOpusdecHears(_ codec: AudioCodec) throws {
    let frames = OpusEncoder(codec).frames(voiceLikeSound(samples: 48_000, rate: 16_000))
    let folder = try TemporaryFolder()
    let file = folder.path + "/voice.opus"
    try Data(OggOpus.file(frames, samplesPerFrame48k: codec.frameSamples * 3)).write(to: URL(filePath: file))
    let process = try ChildProcess(
      "opusdec", ["--quiet", "--rate", "48000", "--no-dither", file, folder.path + "/voice.wav"], output: .discarded)
    try #require(process.wait() == 0)
    let heard = try Data(contentsOf: URL(filePath: folder.path + "/voice.wav"))

    let decoder = try OpusFrameDecoder(sampleRate: 48_000, usualSamples: codec.frameSamples * 3)
    var samples: [Int16] = []
    for frame in frames { try decoder.decode(frame[...], into: &samples) }
    let reference = heard.suffix(samples.count * 2).withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
    #expect(reference.count == 144_000)
    #expect(zip(samples, reference).allSatisfy { abs(Int($0) - Int($1)) <= 1 })
  }

  @Test("Bytes that are not Opus are rejected and decode to nothing") func whatIsNoOpusIsRefusedAndLeavesNothing()
    throws
  {
    let decoder = try OpusFrameDecoder(sampleRate: 16_000, usualSamples: 320)
    var samples: [Int16] = []
    for frame: [UInt8] in [[], [0xff], [0x03], [UInt8](repeating: 0xff, count: 8000)] {
      #expect { try decoder.decode(frame[...], into: &samples) } throws: {
        ($0 as? AudioIngestError)?.code == .damagedFrame
      }
    }
    #expect(samples.isEmpty)
    #expect(throws: AudioIngestError.self) { try OpusFrameDecoder(sampleRate: 44_100, usualSamples: 441) }
  }

  /// From what a device says of its codec to the samples: an unknown one is an error, and a known one decodes whatever
  /// comes to as many samples as it says.
  @Test("A decoder accepts any frame and produces as many samples as it announces") func aCodecTakesAnything() throws {
    let inputs = Fuzz.inputs(usual: 12_000)
    var random = SeededGenerator(seed: 11)
    let known = try AudioCodec.allCases.map { try StreamDecoder($0) }
    var decoders = Dictionary(uniqueKeysWithValues: known.map { ($0.codec, $0) })
    var samples: [Int16] = []
    var gaps: [AudioGap] = []
    for input in 0..<inputs {
      let dice = random.next()
      // Mostly one that is known.
      let identifier =
        dice & 3 == 0 ? UInt8(truncatingIfNeeded: dice >> 8) : [0, 1, 10, 11, 20, 21][Int(dice >> 8 % 6)]
      let value = [UInt8](repeating: identifier, count: dice >> 16 & 0x1f == 0 ? 0 : Int(dice >> 21 & 3) + 1)
      let codec: AudioCodec
      do {
        codec = try AudioCodec(omiValue: value)
      } catch {
        guard error.code == .unknownCodec else { throw error }
        continue
      }
      samples.removeAll(keepingCapacity: true)
      gaps.removeAll(keepingCapacity: true)
      let event = Self.event(&random)
      var decoder = try #require(decoders[codec])
      var timeline = Timeline(sampleRate: codec.sampleRate)
      decoder.decode(event, on: &timeline, into: &samples, gaps: &gaps)
      decoders[codec] = decoder
      // `#expect` itself takes longer than all the rest.
      guard timeline.decoded == samples.count, samples.count <= 40 * 2 * 5760 else {
        Issue.record("input \(input): \(codec), \(event): \(samples.count) samples")
        return
      }
      if case .frame(let frame) = event, gaps.isEmpty, codec.samples(in: frame) != samples.count {
        Issue.record("input \(input): \(codec), \(frame): \(samples.count) samples, not \(codec.samples(in: frame))")
        return
      }
    }
  }

  private static func event(_ random: inout SeededGenerator) -> FrameEvent {
    let dice = random.next()
    switch dice % 20 {
    case 0: return .lost(Int(dice >> 8 % 41))
    case 1: return .restarted
    default:
      var word = random.next()
      let frame = (0..<Int(dice >> 8 % 201)).map { index -> UInt8 in
        if index % 8 == 7 { word = random.next() }
        return UInt8(truncatingIfNeeded: word >> (index % 8 * 8))
      }
      return .frame(frame[...])
    }
  }
}
