import Testing

@testable import Timing

@Suite("Durations in milliseconds, seconds and nanoseconds")
struct DurationUnitsTests {
  @Test(
    "The rounding is the one in the name",
    arguments: [
      (Duration.microseconds(1500), Int64(1), Int64(2), Int64(2)),
      (.microseconds(1400), 1, 2, 1),
      (.milliseconds(7), 7, 7, 7),
      (.microseconds(-1500), -1, -1, -2),
      (.zero, 0, 0, 0),
    ])
  func rounding(of duration: Duration, towardZero: Int64, up: Int64, toNearest: Int64) {
    #expect(duration.milliseconds(rounded: .towardZero) == towardZero)
    #expect(duration.milliseconds(rounded: .up) == up)
    #expect(duration.milliseconds(rounded: .toNearest) == toNearest)
  }

  @Test("A duration beyond the range of milliseconds is clamped")
  func clamping() {
    #expect(Duration.seconds(Int64.max).milliseconds(rounded: .up) == .max)
    #expect(Duration.seconds(Int64.min).milliseconds(rounded: .toNearest) == .min)
  }

  @Test("A negative duration has no nanoseconds")
  func nanoseconds() {
    #expect(Duration.seconds(-1).wholeNanoseconds == 0)
    #expect(Duration.microseconds(3).wholeNanoseconds == 3000)
  }
}
