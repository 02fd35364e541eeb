import DeterministicTesting

@testable import MessageSending

/// A sender with a wall clock that jumps, a network that fails, and a process that is stopped, suspended and killed.
struct SenderLife {
  /// The broken promises, in words.
  private(set) var faults: [String] = []
  private(set) var completed = 0
  /// Damages the record at each restart, to prove that the simulation notices.
  var onRestart: (inout SendingRecord) -> Void = { _ in }

  private var random: SeededGenerator
  private var machine: SendingMachine
  private var disk = SendingRecord()
  /// The seconds of a clock that nobody sets; the wall clock is ahead by `offset`.
  private var time: Int64 = 0
  private var offset: Int64 = 1_790_000_000
  private var timer: Int64?
  /// The instants of messages that the server has confirmed, and those at which the wall clock was set.
  private var sent: [Int64] = []
  private var jumps: [Int64] = []
  /// A run is owed by the rules of the specification, counted apart from the record.
  private var isOwed = false
  private var isOnline = true

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    machine = SendingMachine(policy: .usual)
  }

  mutating func live(hours: Int64) {
    handle(.started)
    while time < hours * 3600 {
      if Int.random(in: 0..<4, using: &random) == 0 { isOnline = true }
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<80: advance(to: timer)
      case 80..<83: setClock(by: .random(in: -90_000...90_000, using: &random))
      case 83..<85: isOnline = false
      case 85..<86: suspend()
      case 86..<90: restart(isKilled: false)
      case 90..<93: restart(isKilled: true)
      case 93..<96: suspend()
      default: handle(.ticked)
      }
    }
    check()
  }

  private mutating func advance(to due: Int64?) {
    guard let due else { return faults.append("no tick is scheduled at \(time)") }
    time = max(time, due)
    handle(.ticked)
  }

  private mutating func setClock(by seconds: Int64) {
    offset += seconds
    jumps.append(time)
  }

  private mutating func suspend() {
    handle(.stopping)
    time += .random(in: 1...20_000, using: &random)
    handle(.started)
  }

  private mutating func restart(isKilled: Bool) {
    if !isKilled { handle(.stopping) }
    time += .random(in: 0...3000, using: &random)
    onRestart(&disk)
    if isOwed, !disk.isPending { faults.append("an owed run was lost at \(time)") }
    machine = SendingMachine(record: disk, policy: .usual)
    timer = nil
    handle(.started)
  }

  private mutating func handle(_ event: SendingMachine.Event) {
    switch event {
    case .started, .stopping, .ticked: isOwed = true
    case .sent, .ended: break
    }
    for action in machine.handle(event, at: (time + offset) * 1000, draw: .random(in: 0..<1, using: &random)) {
      switch action {
      case .rewriteQueue, .report(.skipped): break
      case .save(let record): disk = record
      case .arm(let delay): timer = time + delay.components.seconds
      case .report(let outcome): if outcome == .done { completed += 1 }
      case .send(let count):
        if !run(count) { return }
      }
    }
    if isOwed, !disk.isPending { faults.append("an owed run was lost at \(time)") }
  }

  /// Makes the attempts of a run; returns `false` if the process is killed in it, and started again.
  private mutating func run(_ count: Int) -> Bool {
    if count > 2 { faults.append("a run of \(count)") }
    for _ in 0..<count {
      time += .random(in: 0...20, using: &random)
      // A second trigger at the same time.
      let second = machine.handle(.ticked, at: (time + offset) * 1000, draw: 0)
      if second != [.report(.busy)] { faults.append("a second run at \(time)") }
      if Int.random(in: 0..<50, using: &random) == 0 {
        restart(isKilled: true)
        return false
      }
      guard isOnline, Int.random(in: 0..<20, using: &random) > 0 else { continue }
      sent.append(time)
      for case .save(let record) in machine.handle(.sent, at: (time + offset) * 1000, draw: 0) { disk = record }
    }
    if !disk.isPending { isOwed = false }
    // The failsafe of a start leaves a run owed again.
    let ended = machine.handle(
      .ended(.attempted), at: (time + offset) * 1000, draw: .random(in: 0..<1, using: &random))
    for action in ended {
      if case .save(let record) = action { disk = record }
      if case .arm(let delay) = action { (timer, isOwed) = (time + delay.components.seconds, true) }
      if action == .report(.done) { completed += 1 }
    }
    return true
  }

  /// Two messages an hour, and as many more for each time that the clock was set within it.
  ///
  /// The hour is shorter by a minute than from the start of a run to the next one's: a run takes up to 40 s here.
  private mutating func check() {
    for (index, start) in sent.enumerated() {
      let count = sent[index...].prefix { $0 < start + 3540 }.count
      let set = jumps.count { $0 >= start - 60 && $0 < start + 3540 }
      if count > 2 * (1 + set) { faults.append("more than 2 messages an hour at \(start): \(count)") }
    }
  }
}
