import Testing

@testable import Uploads

@Suite("The speed of a line") struct LineSpeedTests {
  private func speed(_ bytesPerSecond: Int64, seconds: Int) -> LineSpeed {
    var speed = LineSpeed()
    for step in 0...(seconds * 4) {
      speed.add(Int64(step) * bytesPerSecond / 4, at: .milliseconds(step * 250))
    }
    return speed
  }

  @Test("A line is slow after ten seconds below 256 KiB/s", arguments: [(64 << 10, true), (10 << 20, false)])
  func slowLinesAreKnown(_ bytesPerSecond: Int64, _ isSlow: Bool) {
    #expect(!speed(bytesPerSecond, seconds: 9).isSlow)
    #expect(speed(bytesPerSecond, seconds: 11).isSlow == isSlow)
    #expect(speed(bytesPerSecond, seconds: 3000).isSlow == isSlow)
  }

  @Test("A pause tells nothing about a line") func pausesDoNotCount() {
    var speed = speed(10 << 20, seconds: 20)
    speed.add(200 << 20, at: .seconds(3600))
    speed.add(210 << 20, at: .seconds(3601))
    #expect(!speed.isSlow)
  }
}
