import Agent
import Timing

/// A phone that takes its time, fails at times, and now and then does not stop.
struct SimulatedPhone: ComputeRunner {
  struct Broken: Error, CustomStringConvertible {
    var description: String
  }

  let world: World
  let time: TimeSource

  func run(whenReady: @escaping @Sendable () async -> Void) async throws {
    do {
      try await time.sleep(for: world.milliseconds(1...2000))
      if world.weather.doesPhoneFail { throw Broken(description: world.pick(["no adapter", "bluetoothd has gone"])) }
      await whenReady()
      try await time.sleep(for: .seconds(Int.random(in: 60...40_000, using: &world.random)))
      if world.chance(0.5) { throw Broken(description: "the adapter was pulled") }
    } catch is CancellationError {
      // The phone takes its advertisement down even when cancelled; one in a hundred hangs.
      let lingers = world.chance(0.01) ? .seconds(60) : world.milliseconds(0...4000)
      let time = time
      await Task { try? await time.sleep(for: lingers) }.value
      throw CancellationError()
    }
  }
}

/// The engine, as bad as the weather has it.
extension World {
  func answer(_ task: CoordinatorTask, _ time: TimeSource) async throws -> String {
    let begun = time.now
    let words = try await words(time)
    ledger.answered(task.id, after: time.now - begun)
    return words
  }

  private func words(_ time: TimeSource) async throws -> String {
    let words = "an answer of some length \(UInt64.random(in: 0...(.max), using: &random))"
    switch weather.engine {
    case .good: try await time.sleep(for: milliseconds(1000...20_000))
    case .fails: throw SimulatedPhone.Broken(description: "the engine is broken")
    case .hurries: break
    case .repeats:
      try await time.sleep(for: .seconds(2))
      return "42"
    case .empty:
      try await time.sleep(for: .seconds(1))
      return " \n"
    case .constant: try await time.sleep(for: .seconds(5))
    case .hangs: try await time.sleep(for: .seconds(7200))
    }
    return words
  }
}
