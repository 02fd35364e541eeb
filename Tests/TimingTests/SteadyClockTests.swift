import Testing

@testable import Timing

@Suite("The steady clock", .timeLimit(.minutes(5))) struct SteadyClockTests {
  @Test("A sleep lasts until its deadline") func sleepsUntilTheInstant() async throws {
    let clock = SteadyClock()
    let deadline = clock.now + .milliseconds(30)
    try await clock.sleep(until: deadline, tolerance: nil)
    #expect(clock.now >= deadline)
    // What has passed is not waited for.
    try await clock.sleep(until: deadline, tolerance: nil)
  }

  /// An earlier instant may come after a later one: the timer must be set back.
  @Test("Each of many sleeps ends at its own deadline, in whatever order they were started")
  func everyInstantIsKeptInWhateverOrderTheyCome() async throws {
    let begin = SteadyClock().now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in [3, 1, 4, 2, 0, 2] {
        group.addTask {
          let deadline = begin + .milliseconds(50 + 20 * number)
          try await Task.sleep(until: deadline, clock: .steady)
          #expect(SteadyClock().now >= deadline)
        }
      }
      try await group.waitForAll()
    }
  }

  @Test("A cancelled sleep ends at once and delays no other") func aCancelledSleepEndsAtOnceAndLetsTheOthersSleep()
    async throws
  {
    let deadline = SteadyClock().now + .milliseconds(50)
    let long = Task { try await Task.sleep(for: .seconds(3600), clock: .steady) }
    let longer = (0..<100).map { _ in Task { try await Task.sleep(for: .seconds(7200), clock: .steady) } }
    async let short: Void = Task.sleep(until: deadline, clock: .steady)
    for task in longer { task.cancel() }
    long.cancel()
    await #expect(throws: CancellationError.self) { try await long.value }
    for task in longer { await #expect(throws: CancellationError.self) { try await task.value } }
    try await short
    #expect(SteadyClock().now >= deadline)
  }

  @Test("A task that was cancelled before does not sleep") func aTaskCancelledBeforeDoesNotSleep() async throws {
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await Task.sleep(for: .seconds(3600), clock: .steady)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  /// Swift's own clock keeps about a kilobyte of each until its hour is over.
  @Test("A cancelled sleep leaves nothing behind") func aCancelledSleepLeavesNothingBehind() async throws {
    let alarms = try #require(Alarms())
    for number in 0..<2000 {
      let task = Task { try await alarms.wait(until: .now + .seconds(3600)) }
      // Some are cancelled before they sleep, some while they do.
      if number.isMultiple(of: 2) { while alarms.count == 0 { try await Task.sleep(for: .microseconds(100)) } }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(alarms.count == 0)
    }
  }
}
