import Testing

@testable import SpeedTest

/// Samples as pairs of nanoseconds and bytes.
private func samples(_ pairs: (UInt64, UInt64)...) -> [ThroughputSample] {
  pairs.map { ThroughputSample(nanoseconds: $0.0, bytes: $0.1) }
}

@Suite struct ThroughputTests {
  struct Vector: Sendable {
    var threads: [[ThroughputSample]]
    var nanoseconds: UInt64
    var bytes: Double
    var rate: Double
  }

  static let vectors = [
    Vector(
      threads: [
        samples((1_000_000_000, 1000), (2_000_000_000, 2000)),
        samples((500_000_000, 400), (1_500_000_000, 1600), (2_500_000_000, 2600)),
      ], nanoseconds: 2_000_000_000, bytes: 4100, rate: 16_400),
    Vector(
      threads: [samples((1_000_000_000, 1000)), samples((2_000_000_000, 3000))],
      nanoseconds: 1_000_000_000, bytes: 2500, rate: 20_000),
    Vector(
      threads: [samples((7_000_000_000, 7_000_000)), samples((7_000_000_000, 3_500_000))],
      nanoseconds: 7_000_000_000, bytes: 10_500_000, rate: 12_000_000),
    Vector(
      threads: [
        samples((1_000_000_000, 10_000_000), (7_000_000_000, 70_000_000)),
        samples((3_000_000_000, 30_000_000), (7_400_000_000, 74_000_000)),
        samples((6_900_000_000, 20_000_000), (7_100_000_000, 21_000_000)),
      ], nanoseconds: 7_000_000_000, bytes: 160_500_000, rate: 183_428_571.43),
  ]

  @Test("The throughput of known samples is that of the protocol's formula", arguments: vectors)
  func theFormula(vector: Vector) throws {
    let throughput = try #require(Throughput(threads: vector.threads))
    #expect(throughput.nanoseconds == vector.nanoseconds)
    #expect(abs(throughput.bytes - vector.bytes) < 0.01)
    #expect(abs(throughput.bitsPerSecond - vector.rate) < 0.01)
  }

  @Test("No samples, or none after the start, have no throughput") func nothing() {
    #expect(Throughput(threads: []) == nil)
    #expect(Throughput(threads: [[]]) == nil)
    #expect(Throughput(threads: [samples((0, 100))]) == nil)
  }

  @Test("A thread without samples counts as 0 bytes") func oneThreadIsSilent() throws {
    let throughput = try #require(Throughput(threads: [samples((1_000_000_000, 1000)), []]))
    #expect(throughput.bitsPerSecond == 8000)
  }

  @Test("Two samples of the same instant do not divide by zero") func twoOfOneInstant() throws {
    let throughput = try #require(Throughput(threads: [samples((5, 10), (5, 20))]))
    #expect(throughput.bytes == 10)
  }
}

@Suite struct LatencyTests {
  @Test("The median of an even number is the mean of the two middle ones") func theMedian() throws {
    let latency = try #require(Latency([40, 10, 30, 20].map { PingSample(client: $0 + 5, server: $0) }))
    #expect(latency.median == 25)
    #expect(latency.count == 4)
    #expect(latency.shortest == 10)
    #expect(latency.jitter == (30 + 20 + 10) / 3.0)
  }

  @Test("The shortest time is that of either end") func theShortest() throws {
    let latency = try #require(Latency([PingSample(client: 3, server: 9), PingSample(client: 8, server: 7)]))
    #expect(latency.shortest == 3)
  }

  @Test("The quantiles are interpolated between two times") func theQuantiles() throws {
    let latency = try #require(Latency((0...10).map { PingSample(client: 100, server: UInt64($0 * 10)) }))
    #expect(latency.p10 == 10)
    #expect(latency.median == 50)
    #expect(latency.p90 == 90)
    #expect(Latency([PingSample(client: 1, server: 2)])?.p90 == 2)
    #expect(Latency([]) == nil)
  }

  @Test("The classes change at their bounds") func theClasses() {
    #expect(SpeedTestRating.download(100e6) == .veryGood)
    #expect(SpeedTestRating.download(99.9e6) == .good)
    #expect(SpeedTestRating.download(5e6) == .fair)
    #expect(SpeedTestRating.download(4.9e6) == .poor)
    #expect(SpeedTestRating.upload(2.5e6) == .fair)
    #expect(SpeedTestRating.upload(50e6) == .veryGood)
    #expect(SpeedTestRating.ping(nanoseconds: 10e6) == .veryGood)
    #expect(SpeedTestRating.ping(nanoseconds: 10.1e6) == .good)
    #expect(SpeedTestRating.ping(nanoseconds: 76e6) == .poor)
  }
}
