import SystemTesting
import Testing

@testable import AudioIngest

@Suite("The division of audio into segments", .computing) struct SegmentCutterTests {
  /// Blocks of 320 samples, one character each: `s` speech, `-` none. What is decided: `.` hold, `o` open, `a` append,
  /// `S` and `M` close for silence and maximum, `x` close and drop, `C` cut before.
  private func actions(_ rules: SegmentRules, _ blocks: String) -> String {
    var cutter = SegmentCutter(rules, sampleRate: 16_000)
    return String(
      blocks.map { block in
        switch cutter.handle(.init(samples: 320, energy: block == "q" ? 0 : 9, isSpeech: block == "s"), held: 0) {
        case .hold: "."
        case .open: "o"
        case .append: "a"
        case .close(.silence, let keep): keep ? "S" : "x"
        case .close(.maximum, _): "M"
        case .close: "?"
        case .split: "C"
        }
      })
  }

  @Test("Speech ends with silence") func speechEndsWithSilence() {
    let rules = SegmentRules(mode: .speech, silence: .milliseconds(200), minimumSpeech: .milliseconds(60))
    #expect(actions(rules, "---ssss-ss-----------ss") == "...oaaaaaaaaaaaaaaaS.oa")
  }

  @Test("A segment with less than the minimum of speech is dropped") func aClickIsDropped() {
    let rules = SegmentRules(mode: .speech, silence: .milliseconds(200), minimumSpeech: .milliseconds(60))
    #expect(actions(rules, "-ss----------") == ".oaaaaaaaaaax")
  }

  @Test("In the mode for everything only the maximum ends a segment") func everythingEndsOnlyWithTheMaximum() {
    let rules = SegmentRules(mode: .everything, silence: .milliseconds(200), maximum: .seconds(2), quietSearch: .zero)
    let whole = "o" + String(repeating: "a", count: 98) + "M"
    let rest = "o" + String(repeating: "a", count: 19)
    #expect(actions(rules, String(repeating: "-", count: 120)) == whole + rest)
  }

  @Test("Held samples count towards the maximum") func whatIsHeldCounts() {
    var cutter = SegmentCutter(SegmentRules(maximum: .seconds(2)), sampleRate: 16_000)
    let block = SegmentCutter.Block(samples: 320, energy: 0, isSpeech: false)
    #expect(cutter.handle(block, held: 31_360) == .open)
    #expect(cutter.handle(block, held: 0) == .close(.maximum, keep: true))
  }

  /// Of 100 blocks the last 33 are looked at: nine quiet ones are too few, and the ten behind them are cut in their
  /// middle, so that eleven blocks are in the next segment.
  @Test("At the maximum a segment is cut in the middle of the quietest 200 ms") func itIsCutWhereItIsQuiet() {
    let rules = SegmentRules(maximum: .seconds(2))
    var cutter = SegmentCutter(rules, sampleRate: 16_000)
    let blocks = String(repeating: "q", count: 60) + "-------------------------" + "qqqqqqqqqq-----"
    let actions = blocks.map { letter in
      cutter.handle(.init(samples: 320, energy: letter == "q" ? 0 : 9, isSpeech: false), held: 0)
    }
    #expect(actions.last == .split(at: 90 * 320))
    #expect(actions.dropLast().allSatisfy { $0 == .append || $0 == .open })
    #expect(self.actions(rules, blocks + String(repeating: "-", count: 90)).suffix(90).firstIndex(of: "C") != nil)
  }

  @Test("Behind the last speech a segment of speech is not cut") func speechIsNotCutBehindItsEnd() {
    let rules = SegmentRules(mode: .speech, silence: .seconds(1), maximum: .seconds(2))
    let speech = String(repeating: "s", count: 70)
    #expect(actions(rules, speech + "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqq").last == "M")
    #expect(actions(rules, speech + "qqqqqqqqqqqqqqqqqqqqqqqqqsssss").last == "C")
  }

  @Test("Samples inserted before the quiet place move it") func theQuietPlaceMoves() {
    var place = QuietPlace(from: 3200)
    for block in 0..<30 { place.add(320, energy: block == 24 ? 0 : 9, before: (block + 1) * 320) }
    // The last of the ranges with the one quiet block is the last range of all but one.
    let found = place.position
    #expect(found == 29 * 320 + 320 - 1600)
    place.insert(1000, at: 100_000)
    #expect(place.position == found)
    place.insert(1000, at: 3200)
    #expect(place.position == found.map { $0 + 1000 })
  }

  @Test("Rules are clamped to their ranges") func rulesAreBroughtIntoTheirRanges() {
    let rules = SegmentRules(
      silence: .seconds(900), maximum: .seconds(90_000), preRoll: .zero, minimumSpeech: .seconds(-1))
    #expect(rules.maximum == .seconds(3600))
    #expect(rules.silence == .seconds(900))
    #expect(rules.preRoll == .seconds(1))
    #expect(rules.minimumSpeech == .zero)
    #expect(rules.quietSearch == .seconds(20))
    #expect(SegmentRules(maximum: .seconds(30)).quietSearch == .seconds(10))
  }
}
