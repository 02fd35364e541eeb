import Testing
import Timing

@Suite("Sums of times that a file or a clock may have corrupted") struct ClampedTimeTests {
  @Test("A sum in the range is exact") func sums() {
    #expect((1_795_308_300_000 as Int64).addingClamped(-300_000) == 1_795_308_000_000)
    #expect((1_795_308_000_000 as Int64).subtractingClamped(1_795_308_300_000) == -300_000)
  }

  @Test(
    "A sum beyond the range is the nearest number",
    arguments: [(Int64.max, Int64(1), Int64.max), (.min, -1, .min), (.max, .max, .max), (.min, .min, .min)])
  func clampedSums(_ one: Int64, _ other: Int64, _ sum: Int64) {
    #expect(one.addingClamped(other) == sum)
  }

  @Test(
    "A difference beyond the range is the nearest number",
    arguments: [(Int64.min, Int64(1), Int64.min), (.max, -1, .max), (0, .min, .max), (-2, .max, .min)])
  func clampedDifferences(_ one: Int64, _ other: Int64, _ difference: Int64) {
    #expect(one.subtractingClamped(other) == difference)
  }
}
