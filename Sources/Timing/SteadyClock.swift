internal import CLinux
import Glibc
internal import Streams

/// A clock like `ContinuousClock` whose cancelled sleeps leave nothing behind.
///
/// Swift's own clocks keep a cancelled sleep in memory until the instant it would have ended (about 1 KB each, Swift
/// 6.2): a server that guards each request with a timeout of 90 s would hold the memory of all requests of the last 90 s.
///
/// ```swift
/// try await Task.sleep(for: .milliseconds(10), clock: .steady)
/// ```
public struct SteadyClock: Clock {
  /// Creates the clock; all values of the type are one clock.
  public init() {}

  /// The present instant of the system's monotonic clock.
  public var now: ContinuousClock.Instant { .now }
  /// The resolution of the system's clock.
  public var minimumResolution: Duration { ContinuousClock().minimumResolution }

  /// Waits until an instant of the monotonic clock, and up to `tolerance` longer: then the wait ends with the next other
  /// one that ends, so that the processor wakes once for both. `nil` is no tolerance.
  /// - Throws: `CancellationError` when the task is cancelled.
  public func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    try Task.checkCancellation()
    guard let alarms = Alarms.shared else {
      return try await ContinuousClock().sleep(until: deadline, tolerance: tolerance)
    }
    try await alarms.wait(until: deadline, tolerance: max(tolerance ?? .zero, .zero))
  }
}

extension SteadyClock {
  /// Waits for a duration at most, and a third of it at least: from then on the wait ends with any other one of this
  /// process, so that the processor wakes once for both.
  /// - Throws: `CancellationError` when the task is cancelled.
  package func rest(atMost limit: Duration) async throws {
    try await sleep(until: now + limit / 3, tolerance: limit * 2 / 3)
  }
}

extension Clock where Self == SteadyClock {
  /// The clock for every sleep that may be cancelled.
  public static var steady: SteadyClock { SteadyClock() }
}

/// The sleeping tasks of the process: one thread behind one kernel timer wakes each at its instant.
final class Alarms: Sendable {
  private struct Alarm {
    let deadline: ContinuousClock.Instant
    let latest: ContinuousClock.Instant
    let id: Int
  }

  private struct State {
    /// The alarms by deadline, the latest first, so that due ones are taken off the end.
    var alarms: [Alarm] = []
    var sleepers: [Int: UnsafeContinuation<Void, any Error>] = [:]
    /// The sleeps that were cancelled before they began.
    var cancelled: Set<Int> = []
    var nextID = 0

    /// The instant at which the first alarm may no longer wait for another one.
    var wakeAt: ContinuousClock.Instant? {
      guard var first = alarms.last?.latest else { return nil }
      // No alarm is due later than its latest instant: those of later deadlines need not be looked at.
      for alarm in alarms.reversed() {
        if alarm.deadline >= first { break }
        first = min(first, alarm.latest)
      }
      return first
    }
  }

  /// The alarms of this process; `nil` when it may open no descriptor or start no thread.
  static let shared = Alarms()

  private let state = Lock(State())
  private let timer: Int32

  /// The number of sleeps that are kept.
  var count: Int { state.withLock { max($0.alarms.count, $0.sleepers.count, $0.cancelled.count) } }

  /// The instant at which the thread wakes by itself.
  var wakeAt: ContinuousClock.Instant? { state.withLock(\.wakeAt) }

  /// The time until the kernel's timer ends; `nil` if it is stopped.
  var timeLeft: Duration? {
    var time = itimerspec()
    timerfd_gettime(timer, &time)
    let left = Duration.seconds(time.it_value.tv_sec) + .nanoseconds(time.it_value.tv_nsec)
    return left > .zero ? left : nil
  }

  init?() {
    // The clock of ContinuousClock, which goes on while the machine sleeps.
    timer = timerfd_create(CLOCK_BOOTTIME, Int32(TFD_CLOEXEC))
    guard timer >= 0 else { return nil }
    do {
      try startThread(named: "alarms") { self.run() }
    } catch {
      close(timer)
      return nil
    }
  }

  func wait(until deadline: ContinuousClock.Instant, tolerance: Duration = .zero) async throws {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    // A cancellation that comes when the sleeper was just woken finds nobody, and notes its id.
    defer { state.withLock { _ = $0.cancelled.remove(id) } }
    try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Void, any Error>) in
        let isCancelled = state.withLock { state in
          if state.cancelled.remove(id) != nil { return true }
          state.sleepers[id] = continuation
          // What has passed is not waited for.
          let latest = deadline <= .now ? deadline : deadline + tolerance
          let isFirst = state.wakeAt.map { latest < $0 } ?? true
          state.alarms.insert(
            Alarm(deadline: deadline, latest: latest, id: id), at: Self.place(of: deadline, in: state.alarms))
          if isFirst { set(latest) }
          return false
        }
        if isCancelled { continuation.resume(throwing: CancellationError()) }
      }
    } onCancel: {
      cancel(id, deadline)
    }
  }

  private func cancel(_ id: Int, _ deadline: ContinuousClock.Instant) {
    let sleeper = state.withLock { state -> UnsafeContinuation<Void, any Error>? in
      guard let sleeper = state.sleepers.removeValue(forKey: id) else {
        state.cancelled.insert(id)
        return nil
      }
      // Among those of the same instant.
      let place = Self.place(of: deadline, in: state.alarms)
      if let index = state.alarms[place...].firstIndex(where: { $0.id == id }) {
        let wakeAt = state.wakeAt
        state.alarms.remove(at: index)
        // Or the thread would wake for nothing, which costs more than a system call.
        if state.wakeAt != wakeAt { set(state.wakeAt) }
      }
      return sleeper
    }
    sleeper?.resume(throwing: CancellationError())
  }

  /// The index of the first alarm that is not later than the deadline.
  private static func place(of deadline: ContinuousClock.Instant, in alarms: [Alarm]) -> Int {
    var low = 0
    var high = alarms.count
    while low < high {
      let middle = (low + high) / 2
      if alarms[middle].deadline > deadline { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Wakes the thread at an instant; `nil` for no more.
  private func set(_ deadline: ContinuousClock.Instant?) {
    var time = itimerspec()
    if let deadline {
      let wait = max(ContinuousClock.now.duration(to: deadline), .nanoseconds(1)).wholeNanoseconds
      time.it_value.tv_sec = Int(wait / 1_000_000_000)
      time.it_value.tv_nsec = Int(wait % 1_000_000_000)
    }
    timerfd_settime(timer, 0, &time, nil)
  }

  private func run() {
    var expirations: UInt64 = 0
    while true {
      _ = read(timer, &expirations, 8)
      let due = state.withLock { state in
        let now = ContinuousClock.now
        var due: [UnsafeContinuation<Void, any Error>] = []
        while let last = state.alarms.last, last.deadline <= now {
          state.alarms.removeLast()
          if let sleeper = state.sleepers.removeValue(forKey: last.id) { due.append(sleeper) }
        }
        if let next = state.wakeAt { set(next) }
        return due
      }
      for sleeper in due { sleeper.resume() }
    }
  }
}
