import Testing
import Timing

@Suite("Backoff")
struct BackoffTests {
  @Test("A delay doubles from failure to failure up to its limit")
  func doubling() {
    let backoff = Backoff(base: .seconds(2), limit: .seconds(30))
    let delays = (1...6).map { backoff.delay(afterFailures: $0, random: 0.5) }
    #expect(delays == [2, 4, 8, 16, 30, 30].map { .seconds($0) })
  }

  @Test("Jitter multiplies a delay by a factor from its range")
  func jitter() {
    let backoff = Backoff(base: .seconds(4), limit: .seconds(30), jitter: 0.5...1.5)
    #expect(backoff.delay(afterFailures: 1, random: 0) == .seconds(2))
    #expect(backoff.delay(afterFailures: 1, random: 1) == .seconds(6))
    #expect(backoff.delay(afterFailures: 1, random: 7) == .seconds(6))
  }

  @Test("Any number of failures has a delay within the limit")
  func extremes() {
    let backoff = Backoff(base: .seconds(1), limit: .seconds(60))
    #expect(backoff.delay(afterFailures: .max, random: 0) == .seconds(60))
    #expect(backoff.delay(afterFailures: .min, random: 0) == .seconds(1))
  }
}
