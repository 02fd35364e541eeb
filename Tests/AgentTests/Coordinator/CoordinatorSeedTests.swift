import Testing

@testable import Agent

@Suite(.timeLimit(.minutes(5)))
struct CoordinatorSeedTests {
  /// Whatever happens, in whatever order: nothing is lost, nothing is doubled, and nobody is banned.
  @Test(arguments: [1, 2, 3, 7] as [UInt64])
  func hoursOfBadWeather(seed: UInt64) {
    var simulation = CoordinatorSimulation(seed: seed)
    simulation.play(hours: 4)
    #expect(simulation.faults == [], "seed \(seed)")
    // It did take part.
    #expect(simulation.calls["/heartbeat", default: 0] > 500 && simulation.calls["/result", default: 0] > 5)
  }
}
