import Testing

@testable import MessageSending

/// The rate limit between two runs, on the wall clock.
@Suite("The rate limit of the schedule", .timeLimit(.minutes(5))) struct SendingPolicyTests {
  private static let now: Int64 = 1_790_000_000_000

  private func isPermitted(secondsSince seconds: Int64?, minimum: Int = 30) -> Bool {
    SendingPolicy.shouldExecute(
      now: Self.now, lastRun: seconds.map { Self.now - $0 * 1000 }, minimum: .seconds(minimum))
  }

  @Test("The first run is permitted") func theFirstRunIsPermitted() { #expect(isPermitted(secondsSince: nil)) }

  @Test("J1, J3: 40 s after the last run, with a minimum of 30 s, a run is permitted") func afterTheMinimum() {
    #expect(isPermitted(secondsSince: 40))
  }

  @Test("J2: 20 s after the last run, with a minimum of 30 s, a run is skipped") func beforeTheMinimum() {
    #expect(!isPermitted(secondsSince: 20))
  }

  @Test("J4: a last run in the future, after the clock was set back, permits a run") func aLastRunInTheFuture() {
    #expect(isPermitted(secondsSince: -10))
  }

  @Test("A second run in the same instant is skipped") func theSameInstant() { #expect(!isPermitted(secondsSince: 0)) }

  @Test("16: 3600 s after the last run a run is permitted, after 3599 s it is skipped") func theBoundaryOfAnHour() {
    #expect(isPermitted(secondsSince: 3600, minimum: 3600))
    #expect(!isPermitted(secondsSince: 3599, minimum: 3600))
    let almost = SendingPolicy.shouldExecute(now: 3_599_999, lastRun: 0, minimum: .seconds(3600))
    #expect(!almost)
  }

  @Test("4: A clock that was set forward permits a run, and setting it right again another one") func aForwardJump() {
    #expect(isPermitted(secondsSince: 86_400, minimum: 3600))
    #expect(isPermitted(secondsSince: -86_400, minimum: 3600))
  }

  @Test("The ends of the clock do not trap") func theEndsOfTheClock() {
    let instants: [Int64] = [.min, .min + 1, -1, 0, 1, .max - 1, .max]
    for now in instants {
      for last in instants {
        let isPermitted = SendingPolicy.shouldExecute(now: now, lastRun: last, minimum: .seconds(3600))
        #expect(isPermitted == (last > now || Double(now) - Double(last) >= 3_600_000))
      }
    }
  }
}
