import Testing

@testable import MessageSending

/// A sender without files and network: it performs the actions of the state machine, and counts.
struct SchedulePlay {
  var machine: SendingMachine
  /// The wall-clock time in seconds.
  var now: Int64
  /// The results of the attempts to come; attempts beyond them succeed.
  var results: [Bool] = []
  var draw = 0.5
  private(set) var posts = 0
  private(set) var timers: [Duration] = []
  private(set) var outcomes: [SendingOutcome] = []
  private(set) var saved = SendingRecord()
  private(set) var rewrites = 0

  init(_ policy: SendingPolicy = .usual, at now: Int64 = 1_790_000_000) {
    machine = SendingMachine(policy: policy)
    self.now = now
  }

  var isPending: Bool { saved.isPending }
  var lastRun: Int64? { saved.lastRun.map { $0 / 1000 } }

  mutating func handle(_ event: SendingMachine.Event) {
    for action in machine.handle(event, at: now * 1000, draw: draw) {
      switch action {
      case .rewriteQueue: rewrites += 1
      case .save(let record): saved = record
      case .arm(let delay): timers.append(delay)
      case .report(let outcome): outcomes.append(outcome)
      case .send(let count):
        for _ in 0..<count {
          posts += 1
          if results.isEmpty || results.removeFirst() { handle(.sent) }
        }
        handle(.ended(.attempted))
      }
    }
  }

  /// Starts again from what is on disk, as after a crash.
  mutating func restart(_ policy: SendingPolicy = .usual) { machine = SendingMachine(record: saved, policy: policy) }
}
