import Agent
import Foundation
import NetworkPath
import SystemState

/// What happens to a machine in a day.
extension World {
  /// What can happen. Each seed knows only some of it, and so goes deeper into that.
  enum Happening: CaseIterable {
    case network, power, person, charging, session, choosePhase, coordinator, ban, skew, work, engine, model, phone
    case loss, disk, wallClock, suspend, restart, kill, task
  }

  /// Plays a day, and then good weather until all has come to an end.
  func play(hours: Int) {
    weather.happenings = Happening.allCases.filter { _ in chance(0.6) }
    let pause = pick([60, 300, 1800, 5400])
    tell("every \(pause) s one of \(weather.happenings)")
    start()
    choose(.on)
    let end = Duration.seconds(3600 * hours)
    while now < end, isFaultless {
      pass(.milliseconds(Int.random(in: 0...(2000 * pause), using: &random)))
      if life == nil { start() }
      happen(weather.happenings.isEmpty ? .person : pick(weather.happenings))
      settle()
      if chance(0.2) { life?.checkTasks() }
    }
    if isFaultless { clear() }
  }

  /// Clears the weather: after any history the user can make the agent work, and the coordinator receives all results.
  private func clear() {
    tell("good weather")
    weather.loss = 0
    weather.engine = .good
    weather.isModelReady = true
    weather.doesPhoneFail = false
    isDiskFull = false
    jobsToLive = nil
    coordinator.isSkewed = false
    coordinator.isBanned = false
    coordinator.hasWork = false
    weather.isSuspending = false
    if life == nil { start() }
    weather.path = PathSnapshot(status: .satisfied)
    weather.power = PowerTelemetry(onExternalPower: true, batteryLevelPct: 90, lowPowerMode: false, updatedAtMs: wallMs)
    life?.say(weather.path)
    life?.say(powerSnapshot)
    settle()
    life?.act { await $0.runner.setRunOnlyWhileCharging(false) }
    choose(.on)
    pass(.seconds(1800))
    if life == nil { start() }
    choose(.on)
    // A gap in the heartbeats holds results for an hour, what looks bad together for another, a clock set back for more.
    for _ in 0..<16 where !ledger.missing(in: self).isEmpty || life?.runner.status.runState != .running {
      pass(.seconds(900))
    }
    let missing = ledger.missing(in: self)
    if !missing.isEmpty { fault("never arrived: \(missing)") }
    if let status = life?.runner.status, status.mode != .on || status.runState != .running {
      fault("in good weather it is \(status.mode), \(status.runState)")
    }
    life?.leave()
    pass(.seconds(30))
    if life != nil { fault("it does not end") }
  }

  private func happen(_ happening: Happening) {
    tell("\(happening)")
    ledger.pendingChanges()
    switch happening {
    case .network: changeNetwork()
    case .power:
      weather.power = PowerTelemetry(
        onExternalPower: chance(0.7), batteryLevelPct: chance(0.2) ? nil : Int.random(in: 0...100, using: &random),
        lowPowerMode: chance(0.1), updatedAtMs: wallMs)
      life?.say(powerSnapshot)
    case .person: choose(pick([.on, .on, .on, .bluetoothLocal, .off]))
    case .charging:
      let only = chance(0.3)
      life?.act { await $0.runner.setRunOnlyWhileCharging(only) }
    case .session:
      weather.isIdle.toggle()
      tellPhase()
    case .choosePhase: choosePhase(pick(LifecycleChoice.allCases))
    case .coordinator: coordinator.restart()
    case .ban: coordinator.isBanned = chance(0.3)
    case .skew: coordinator.isSkewed.toggle()
    case .work: coordinator.hasWork.toggle()
    case .engine: weather.engine = pick(Engine.allCases)
    case .model: weather.isModelReady = chance(0.8)
    case .phone: weather.doesPhoneFail = chance(0.3)
    case .loss: weather.loss = pick([0, 0, 0, 0.1, 0.5, 1])
    case .disk:
      if !isDiskFull { ledger.diskIsFull() }
      isDiskFull.toggle()
    case .wallClock: weather.wallOffset += pick([-90_000, -3600, -60, 60, 3600, 90_000])
    case .suspend: suspend()
    case .restart:
      life?.leave()
      pass(.seconds(15))
      rest()
    case .kill: fall()
    case .task:
      let task = pick(AgentTask.allCases).rawValue
      let isRun = chance(0.6)
      // Refused or not: that is the scheduler's to decide.
      life?.act { _ = try? await isRun ? $0.tasks.runNow(task) : $0.tasks.expireNow(task) }
    }
  }

  private func changeNetwork() {
    if weather.path.status == .satisfied { weather.lostAt = now }
    weather.path =
      chance(0.6)
      ? PathSnapshot(status: .satisfied) : PathSnapshot(status: .unsatisfied, unsatisfiedReason: .noCarrier)
    life?.say(weather.path)
    settle()
    // A user who is notified of the network's return often selects On.
    if weather.path.status == .satisfied, chance(0.7) { choose(.on) }
  }

  /// Killed now, or some jobs later, in the middle of something.
  private func fall() {
    guard let life else { return }
    if chance(0.5) {
      let number = life.number
      life.act { life in
        let tasks = await life.tasks.tasks.filter { $0.wait != nil }
        if life.world.now >= life.world.diskIsGoodAt, life.runs.isEmpty {
          life.world.ledger.isPending(Set(tasks.map(\.identifier)), in: number)
        }
      }
      kill()
    } else {
      jobsToLive = Int.random(in: 0...200, using: &random)
      if chance(0.3) { choose(pick(ComputeMode.allCases)) }
      pass(.seconds(60))
      kill()
    }
    rest()
  }

  /// Nothing runs for a while, at times because the machine is off.
  private func rest() {
    let pause = pick([1, 5, 60, 600, 3 * 3600])
    pass(.seconds(pause))
    // The time of a clock that was set meanwhile is unknown after a start of the host.
    if life == nil, !weather.happenings.contains(.wallClock), chance(0.3) { boot(awayFor: pause) }
  }

  private func suspend() {
    weather.isSuspending = true
    tellPhase()
    pass(milliseconds(0...5000))
    // Nobody runs, and time goes on.
    ledger.heartbeatsPause()
    clock.advance(to: now + .seconds(pick([10, 300, 7200])))
    settle()
    ledger.heartbeatsPause()
    weather.isSuspending = false
    weather.wokenAt = now
    tellPhase()
  }

  private func choose(_ mode: ComputeMode) {
    if mode == .on { ledger.hasChosenOn = true }
    life?.act { await $0.runner.choose(mode) }
  }

  private func choosePhase(_ choice: LifecycleChoice) {
    guard let lifecycle = life?.lifecycle else { return }
    if (try? lifecycle.choose(choice)) != nil { ledger.chose(choice) }
    tellPhase()
  }

  private func tellPhase() {
    life?.act { life in
      guard let lifecycle = life.lifecycle else { return }
      await life.runner.take(life.world.phase(lifecycle.snapshot))
    }
  }

  /// The phase that follows from logind and the user's choice.
  func phase(_ chosen: LifecycleSnapshot) -> LifecycleSnapshot {
    if weather.isSuspending { return LifecycleSnapshot(phase: .suspending, reason: .sleep, choice: chosen.choice) }
    return chosen.choice == .auto && weather.isIdle ? LifecycleSnapshot(phase: .background, reason: .idle) : chosen
  }

  var powerSnapshot: PowerSnapshot {
    PowerSnapshot(telemetry: weather.power, externalPower: weather.power.onExternalPower ? .supply : .battery)
  }
}

/// What the seed decides for the whole day.
extension World {
  /// A Boolean value that indicates whether the network is metered.
  var isSparing: Bool { seed % 3 == 0 }
  /// The conduct after a gap in the heartbeats.
  var afterGap: AfterGap { seed % 2 == 0 ? .work : .wait }
  /// The longest time between two heartbeats that are taken.
  var longestPause: Duration { isSparing ? .seconds(241) : .seconds(16) }
}
