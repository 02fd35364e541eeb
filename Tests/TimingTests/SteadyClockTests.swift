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

  /// Without the other one it would last an hour.
  @Test("A sleep with a tolerance ends with the next other sleep after its deadline") func tolerance() async throws {
    let alarms = try #require(Alarms())
    let deadline = SteadyClock().now + .milliseconds(20)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<3 {
        group.addTask {
          try await alarms.wait(until: deadline, tolerance: .seconds(3600))
          #expect(SteadyClock().now >= deadline)
        }
      }
      group.addTask { try await alarms.wait(until: deadline + .milliseconds(1)) }
      try await group.waitForAll()
    }
    // What has passed is not waited for.
    try await alarms.wait(until: deadline, tolerance: .seconds(3600))
    #expect(alarms.count == 0)
  }

  /// Sleeps whose deadlines and tolerances are in seconds from an instant, and when the thread wakes for them.
  struct Sleeps: Sendable {
    let all: [(after: Int, tolerance: Int)]
    let wake: Int

    static let cases = [
      Self(all: [(0, 10)], wake: 10), Self(all: [(0, 10), (5, 0)], wake: 5), Self(all: [(0, 10), (5, 7)], wake: 10),
      Self(all: [(0, 0), (0, 10)], wake: 0), Self(all: [(10, 0), (0, 30), (20, 5)], wake: 10),
      Self(all: [(0, 30), (10, 30), (20, 5)], wake: 25), Self(all: [(40, 0), (0, 30)], wake: 30),
    ]
  }

  @Test("The thread sleeps as long as the tolerances allow", arguments: Sleeps.cases)
  func thread(sleeps: Sleeps) async throws {
    let alarms = try #require(Alarms())
    let first = SteadyClock().now + .seconds(3600)
    let tasks = sleeps.all.map { sleep in
      Task { try await alarms.wait(until: first + .seconds(sleep.after), tolerance: .seconds(sleep.tolerance)) }
    }
    while alarms.count < sleeps.all.count { try await Task.sleep(for: .milliseconds(1)) }
    #expect(alarms.wakeAt == first + .seconds(sleeps.wake))
    for task in tasks { task.cancel() }
    for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
    #expect(alarms.wakeAt == nil)
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

  @Test("The thread does not wake for a cancelled sleep") func aCancelledSleepWakesNobody() async throws {
    let alarms = try #require(Alarms())
    let now = SteadyClock().now
    let later = Task { try await alarms.wait(until: now + .seconds(7200)) }
    let sooner = Task { try await alarms.wait(until: now + .seconds(3600)) }
    while alarms.count < 2 { try await Task.sleep(for: .milliseconds(1)) }
    #expect(try #require(alarms.timeLeft) <= .seconds(3600))
    sooner.cancel()
    await #expect(throws: CancellationError.self) { try await sooner.value }
    #expect(try #require(alarms.timeLeft) > .seconds(3600))
    later.cancel()
    await #expect(throws: CancellationError.self) { try await later.value }
    #expect(alarms.timeLeft == nil)
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
