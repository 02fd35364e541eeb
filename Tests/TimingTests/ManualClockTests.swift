import DeterministicTesting
import Testing

@Suite("A clock that a test moves", .timeLimit(.minutes(5))) struct ManualClockTests {
  private let clock = ManualClock()

  @Test("A sleeper wakes when the clock is moved to its instant") func aSleeperWakes() async throws {
    let sleeper = Task { try await clock.sleep(until: clock.now.advanced(by: .seconds(60)), tolerance: nil) }
    await clock.advance(toSleeperAt: .seconds(60))
    try await sleeper.value
    #expect(clock.now.offset == .seconds(60))
  }

  @Test("A cancelled wait for a sleeper that never comes ends and moves nothing") func aCancelledWaitEnds() async {
    let wait = Task { await clock.advance(toSleeperAt: .seconds(60)) }
    wait.cancel()
    await wait.value
    #expect(clock.now.offset == .zero)
  }

  @Test("A wait that is cancelled before it begins ends") func aWaitOfACancelledTaskEnds() async {
    let clock = clock
    let found = await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await clock.waitForSleeper(until: .seconds(60))
    }.value
    #expect(!found)
  }
}
