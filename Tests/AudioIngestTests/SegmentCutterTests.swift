import Testing

@testable import AudioIngest

@Suite("The division of audio into segments", .computing) struct SegmentCutterTests {
  /// Blocks of 320 samples, one character each: `s` speech, `-` none. What is decided: `.` hold, `o` open, `a` append,
  /// `S` and `M` close for silence and maximum, `x` close and drop.
  private func actions(_ rules: SegmentRules, _ blocks: String) -> String {
    var cutter = SegmentCutter(rules, sampleRate: 16_000)
    return String(
      blocks.map { block in
        switch cutter.handle(320, isSpeech: block == "s", held: 0) {
        case .hold: "."
        case .open: "o"
        case .append: "a"
        case .close(.silence, let keep): keep ? "S" : "x"
        case .close(.maximum, _): "M"
        case .close: "?"
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
    let rules = SegmentRules(mode: .everything, silence: .milliseconds(200), maximum: .seconds(2))
    let whole = "o" + String(repeating: "a", count: 98) + "M"
    let rest = "o" + String(repeating: "a", count: 19)
    #expect(actions(rules, String(repeating: "-", count: 120)) == whole + rest)
  }

  @Test("Held samples count towards the maximum") func whatIsHeldCounts() {
    var cutter = SegmentCutter(SegmentRules(maximum: .seconds(2)), sampleRate: 16_000)
    #expect(cutter.handle(320, isSpeech: false, held: 31_360) == .open)
    #expect(cutter.handle(320, isSpeech: false, held: 0) == .close(.maximum, keep: true))
  }

  @Test("Rules are clamped to their ranges") func rulesAreBroughtIntoTheirRanges() {
    let rules = SegmentRules(
      silence: .seconds(900), maximum: .seconds(90_000), preRoll: .zero, minimumSpeech: .seconds(-1))
    #expect(rules.maximum == .seconds(3600))
    #expect(rules.silence == .seconds(900))
    #expect(rules.preRoll == .seconds(1))
    #expect(rules.minimumSpeech == .zero)
  }
}
