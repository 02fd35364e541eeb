import Foundation
import SystemTesting
import Testing

@testable import AudioIngest

@Suite("The conversion of sample rates", .computing) struct ResamplerTests {
  private static func convert(_ samples: [Int16], _ from: Int, _ to: Int) throws -> [Int16] {
    let resampler = try Resampler(from: from, to: to)
    var result: [Int16] = []
    for start in stride(from: 0, to: samples.count, by: 1777) {
      try resampler.convert(Array(samples[start..<min(start + 1777, samples.count)]), into: &result)
    }
    try resampler.finish(into: &result)
    return result
  }

  /// A sine of half of full scale.
  private static func sine(_ frequency: Double, _ count: Int, rate: Int) -> [Int16] {
    (0..<count).map { Int16((16_000 * sin(2 * .pi * frequency * Double($0) / Double(rate))).rounded()) }
  }

  @Test(
    "The length is that of the input times the ratio, rounded",
    arguments: [0, 1, 2, 7, 159, 160, 1777, 48_000, 48_001, 100_003])
  func theLengthIsExact(_ count: Int) throws {
    let sound = [Int16](repeating: 99, count: count)
    for (from, to) in [(48_000, 16_000), (16_000, 8000), (8000, 16_000), (16_000, 44_100), (16_000, 48_000)] {
      let expected = Int((Double(count) * Double(to) / Double(from)).rounded())
      #expect(try Self.convert(sound, from, to).count == expected, "\(from) to \(to)")
    }
  }

  @Test(
    "A tone keeps its place and its level: the filter's delay is not in the result",
    arguments: [(48_000, 16_000), (16_000, 8000), (8000, 16_000), (16_000, 48_000)])
  func theDelayIsCompensated(_ from: Int, _ to: Int) throws {
    let heard = try Self.convert(Self.sine(997, from * 2, rate: from), from, to)
    let expected = Self.sine(997, to * 2, rate: to)
    // Where the tone begins and ends abruptly, a filter rings.
    let inner = to / 4..<to * 7 / 4
    #expect(zip(heard[inner], expected[inner]).allSatisfy { abs(Int($0) - Int($1)) <= 2 })
  }

  @Test("A sweep through the frequencies that do not fit vanishes, and one below them stays")
  func theStopBandIsSilent() throws {
    let sweep = Self.sweep(from: 8_050, to: 23_900)
    let inner = try Self.convert(sweep, 48_000, 16_000).dropFirst(800).dropLast(800)
    // −80 dB of the sweep's level, which is 3 steps of 16 bits.
    #expect((inner.map { abs(Int($0)) }.max() ?? 0) <= 3)
    let low = Self.sweep(from: 50, to: 7000)
    let kept = try Self.convert(low, 48_000, 16_000)
    let level = Self.level(kept) / Self.level(low)
    #expect(abs(20 * log10(level)) < 0.05)
  }

  /// A tone that rises for 2 s, at 48 kHz and half of full scale.
  private static func sweep(from low: Double, to high: Double) -> [Int16] {
    let count = 96_000
    var phase = 0.0
    return (0..<count).map { index in
      phase += 2 * .pi * (low + (high - low) * Double(index) / Double(count)) / 48_000
      // Soft ends: an abrupt one has all frequencies.
      let edge = sin(.pi / 2 * min(Double(min(index, count - index)) / 2400, 1))
      return Int16((16_000 * edge * edge * sin(phase)).rounded())
    }
  }

  private static func level(_ samples: [Int16]) -> Double {
    (samples.reduce(0) { $0 + Double($1) * Double($1) } / Double(samples.count)).squareRoot()
  }
}
