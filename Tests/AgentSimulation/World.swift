import DeterministicTesting
import Foundation
import NetworkPath
import SystemState

/// A machine with an agent, for a day: its clocks, its disk, the weather around it, and all that went wrong.
final class World: @unchecked Sendable {
  // Sound: there is one thread, see Executor.

  /// The conditions around the agent.
  struct Weather {
    var happenings: [Happening] = []
    var path = PathSnapshot(status: .satisfied)
    var power = PowerTelemetry(onExternalPower: true, batteryLevelPct: 80, lowPowerMode: false, updatedAtMs: 1)
    var isIdle = false
    var isSuspending = false
    var loss = 0.0
    var engine = Engine.good
    var isModelReady = true
    var doesPhoneFail = false
    /// The difference of the wall clock to the steady one, in seconds.
    var wallOffset = 0
    // When the network was lost, the host woke, and the program was started, each for the last time.
    var lostAt: Duration = .zero
    var wokenAt: Duration = .zero
    var startedAt: Duration = .zero
  }

  /// The boots of the machine: their number, and the instant of the newest.
  struct Boots {
    var count = 1
    var newest: Duration = .zero
  }

  /// The kinds of engines, good and bad.
  enum Engine: CaseIterable { case good, fails, hurries, repeats, empty, constant, hangs }

  let seed: UInt64
  let clock = SimulatedClock()
  /// The folder with what outlives the agent.
  let folder: String
  var random: SeededGenerator
  var coordinator: SimulatedCoordinator
  /// The program as it runs now; `nil` while it does not.
  var life: Life?
  /// The instances that have ended: they are never released, because deinitializers have effects.
  private var graves: [Life] = []
  /// A Boolean value that indicates whether every event is printed, for a developer who repeats a seed.
  let isTelling: Bool
  var faults: [String] = []

  var weather = Weather()
  var isDiskFull = false {
    didSet {
      limitDisk()
      // What could not be written is tried again within a minute.
      diskIsGoodAt = isDiskFull ? .seconds(1 << 40) : now + .seconds(65)
    }
  }
  private(set) var diskIsGoodAt: Duration = .zero
  private(set) var boots = Boots()
  /// Jobs until the program is killed; `nil` for not at all.
  var jobsToLive: Int?

  // The ledger of what the user chose, and of what was acknowledged.
  let ledger = Ledger()

  init(seed: UInt64, folder: String, isTelling: Bool) {
    self.seed = seed
    self.folder = folder
    self.isTelling = isTelling
    random = SeededGenerator(seed: seed)
    coordinator = SimulatedCoordinator(hasToken: Bool.random(using: &random), toleratesGaps: seed % 2 == 0)
  }

  var now: Duration { clock.now.offset }
  var seconds: Double { Double(now.components.seconds) + Double(now.components.attoseconds) / 1e18 }
  var wallMs: Int64 { 1_700_000_000_000 + Int64(seconds * 1000) + Int64(weather.wallOffset) * 1000 }

  var bootMs: Int64 { Int64(seconds * 1000) - Int64(boots.newest.components.seconds) * 1000 }

  /// The machine is started again. One without a clock of its own goes on with a time it wrote down before it stopped.
  func boot(awayFor pause: Int) {
    boots = Boots(count: boots.count + 1, newest: now)
    if chance(0.5) { weather.wallOffset -= pause + Int.random(in: 120...3600, using: &random) }
  }

  func chance(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &random) < probability }

  func pick<Items: Collection>(_ items: Items) -> Items.Element {
    guard let item = items.randomElement(using: &random) else { preconditionFailure("there is nothing to pick from") }
    return item
  }

  func milliseconds(_ range: ClosedRange<Int>) -> Duration { .milliseconds(Int.random(in: range, using: &random)) }

  func tell(_ text: @autoclosure () -> String) {
    if isTelling { print("  \(now): \(text())") }
  }

  func fault(_ text: String) {
    tell("FAULT: \(text)")
    // The first few say it all.
    if faults.count < 10 { faults.append("\(now): \(text)") }
  }

  var isFaultless: Bool { faults.isEmpty }

  /// Lets time pass, and all happen that happens then.
  func pass(_ duration: Duration) {
    let end = now + duration
    settle()
    while let next = clock.next, next <= end {
      clock.advance(to: next)
      settle()
    }
    clock.advance(to: end)
    settle()
  }

  /// Runs what can run, until nothing can but by the time; or the program is killed in the middle of it.
  func settle() {
    var jobs = 0
    while true {
      jobs += 1
      if jobs > 20_000 {
        fault("it goes round in circles")
        return kill()
      }
      if let left = jobsToLive {
        if left <= 0 { return kill() }
        jobsToLive = left - 1
      }
      guard Executor.runOne() else { break }
    }
    life?.check()
    for strike in coordinator.takeFaults() { fault(strike) }
    if let life, life.hasEnded { bury(life) }
  }

  /// The program is started.
  func start() {
    // The one that runs now, if there is one, is not started again.
    let number = graves.count + 1
    tell("start \(number)")
    do {
      let life = try Life(self, number: number)
      self.life = life
      life.begin()
      settle()
    } catch {
      fault("it does not start: \(error)")
    }
  }

  /// `kill -9`.
  func kill() {
    jobsToLive = nil
    guard let life else { return }
    tell("kill")
    bury(life)
  }

  private func bury(_ life: Life) {
    self.life = nil
    ledger.ends(life)
    life.close()
    graves.append(life)
    Executor.kill()
    clock.forgetSleepers()
  }

  private func limitDisk() {
    // What is written begins to be written, and is torn.
    var limit = rlimit(rlim_cur: isDiskFull ? rlim_t(Int.random(in: 0...200, using: &random)) : rlim_t.max, rlim_max: 0)
    limit.rlim_max = rlim_t.max
    if setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) != 0 { fault("the disk cannot be made full") }
  }
}
