import DeterministicTesting
import Testing

@testable import MessageSending

/// The clamped exponential delay, by the vectors that were derived from its formula.
@Suite("The random delay", .timeLimit(.minutes(5))) struct RandomDelayTests {
  @Test(
    "Each draw has the delay of the formula",
    arguments: [
      (0, 300), (0.25, 300), (0.3934, 300), (0.394, 300), (0.5, 415), (0.75, 831), (0.9, 1381), (0.95, 1797),
      (0.99, 2763), (0.999, 4144), (0.9999, 5526), (0.99999, 6907), (1 - 0x1p-53, 7200),
    ] as [(Double, Int)])
  func eachDrawHasItsDelay(draw: Double, seconds: Int) {
    #expect(RandomDelay.usual.seconds(at: draw) == seconds)
  }

  @Test(
    "The failsafe adds ten minutes after the clamp",
    arguments: [(0, 900), (0.5, 1015), (0.9, 1981), (1 - 0x1p-53, 7800)] as [(Double, Int)])
  func theFailsafeAddsTenMinutes(draw: Double, seconds: Int) {
    var machine = SendingMachine(policy: .usual)
    #expect(machine.handle(.started, at: 0, draw: draw).first == .arm(.seconds(seconds)))
  }

  /// A closed range would reach 1, whose logarithm is infinite.
  @Test("No draw traps: one, a number outside of the range, infinity, or none at all")
  func noDrawTraps() {
    for draw in [1, 1.5, .infinity, .greatestFiniteMagnitude] as [Double] {
      #expect(RandomDelay.usual.seconds(at: draw) == 7200)
    }
    for draw in [-0.0, -1, -.infinity, .nan, .leastNonzeroMagnitude] as [Double] {
      #expect(RandomDelay.usual.seconds(at: draw) == 300)
    }
    let widest = RandomDelay(mean: .max, range: 0...(.max))
    #expect(widest?.seconds(at: 1) == .max)
    #expect(RandomDelay(mean: 1, range: 0...0)?.seconds(at: 0.5) == 0)
  }

  @Test("A mean below one second and a negative delay are refused") func impossibleDistributionsAreRefused() {
    #expect(RandomDelay(mean: 0, range: 0...1) == nil)
    #expect(RandomDelay(mean: -600, range: 0...1) == nil)
    #expect(RandomDelay(mean: 600, range: -1...1) == nil)
  }

  @Test("D1: mean and variance are those of the exponential distribution where the clamp is wide")
  func meanAndVarianceOfAWideClamp() throws {
    let delay = try #require(RandomDelay(mean: 1800, range: 0...20_000))
    let samples = Self.samples(of: delay, 10_000)
    let mean = samples.reduce(0, +) / 10_000
    let variance = samples.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / 10_000
    #expect(abs(mean - 1800) < 60)
    #expect(abs(variance - 1800 * 1800) < 0.2 * 1800 * 1800)
  }

  @Test("D2: all delays lie within the bounds") func allDelaysLieWithinTheBounds() throws {
    let delay = try #require(RandomDelay(mean: 1800, range: 2400...2700))
    #expect(Self.samples(of: delay, 100).allSatisfy { (2400...2700).contains($0) })
  }

  @Test("15: 39 % of the usual delays have exactly five minutes, and their mean is 664 s") func theUsualDelays() {
    let samples = Self.samples(of: .usual, 100_000)
    #expect(abs(Double(samples.count { $0 == 300 }) / 100_000 - 0.394) < 0.01)
    #expect(abs(samples.reduce(0, +) / 100_000 - 663.6) < 8)
  }

  private static func samples(of delay: RandomDelay, _ count: Int) -> [Double] {
    var random = SeededGenerator(seed: 19)
    return (0..<count).map { _ in Double(delay.seconds(at: .random(in: 0..<1, using: &random))) }
  }
}
