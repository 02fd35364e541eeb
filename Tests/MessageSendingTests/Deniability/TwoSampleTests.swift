import DeterministicTesting
import Foundation
import SystemTesting
import Testing

/// Runs of senders, compared by their distributions: an observer of the network sees nothing else.
@Suite("Runs of a silent and of a busy user", .computing, .timeLimit(.minutes(60))) struct TwoSampleTests {
  /// The completed runs of each sender; the specification's number is 10,000.
  private static let runs = ProcessInfo.processInfo.environment["EDGEBLUE_RUNS"].flatMap { Int($0) } ?? 400

  @Test("Intervals, sizes and repeats of a user who writes are those of one who never does, at p < 0.01")
  func aBusyUserLooksSilent() async throws {
    let silent = try await ObservedLife.of(runs: Self.runs, seed: 1, writes: false)
    let busy = try await ObservedLife.of(runs: Self.runs, seed: 2, writes: true)
    #expect(silent.sizes.count > 2 * Self.runs)
    #expect(busy.repeats.count > Self.runs / 10)
    #expect(Set(busy.repeats) == [1], "a refused head stays, whatever its user writes")
    let probability = ObservedLife.probability(silent, busy)
    print("\(silent.sizes.count) and \(busy.sizes.count) attempts, p = \(probability)")
    #expect(probability >= 0.01)
  }

  @Test(
    "A flush after writing, a fresh cover for a retry and a longer body are found",
    arguments: ObservedLife.Leak.allCases)
  func plantedLeaksAreFound(leak: ObservedLife.Leak) async throws {
    let silent = try await ObservedLife.of(runs: Self.runs, seed: 3, writes: false, leak: leak)
    let busy = try await ObservedLife.of(runs: Self.runs, seed: 4, writes: true, leak: leak)
    let probability = ObservedLife.probability(silent, busy)
    print("\(leak): p = \(probability)")
    #expect(probability < 0.01)
  }

  /// A test of distributions that finds differences everywhere, or none, proves nothing.
  @Test("The two-sample test has the published values, and is even for samples of one distribution") func theTest() {
    var random = SeededGenerator(seed: 7)
    func sample(_ count: Int, shift: Double = 0) -> [Double] {
      (0..<count).map { _ in .random(in: 0..<1, using: &random) + shift }
    }
    let found = (0..<500).count { _ in TwoSamples.probability(sample(200), sample(300)) < 0.05 }
    #expect((8...45).contains(found))
    #expect(TwoSamples.probability(sample(400), sample(400, shift: 0.2)) < 0.001)
    #expect(TwoSamples.probability([1, 1, 1], [1, 1, 1]) == 1)
    // D = 0.5 of 8 and 8 values: lambda = (2 + 0.12 + 0.055) · 0.5.
    let half = TwoSamples.probability((0..<8).map(Double.init), (4..<12).map(Double.init))
    #expect(abs(half - 0.1876) < 0.001)
  }
}
