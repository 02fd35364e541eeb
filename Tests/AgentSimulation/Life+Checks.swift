import Agent
import BackgroundTasks
import Foundation

/// What must hold whenever nothing goes on.
extension Life {
  func check() {
    world.ledger.rests(world)
    let status = runner.status
    defer { seen = status }
    guard let seen, !hasEnded, !isLeaving else { return }
    checkMode(status, before: seen)
    checkServices(status)
    if let age = world.ledger.heartbeatAge(world.now), age > world.longestPause, status.runState == .running {
      world.fault("no heartbeat for \(age)")
      world.ledger.heartbeatsPause()
    }
    if services.active != [.heartbeat] { world.ledger.heartbeatsPause() }
    let isHeld = activity.state == .waiting
    if isHeld == runs.isEmpty { world.fault("the inhibitor is \(activity.state) with the runs \(runs)") }
  }

  /// Checks that only the user selects On, and that the mode changes by itself from On to Bluetooth Local alone.
  private func checkMode(_ status: AgentStatus, before: AgentStatus) {
    if status.mode != before.mode {
      world.tell("\(before.mode) → \(status.mode), \(status.cause)")
      if status.mode == .on, !world.ledger.hasChosenOn { world.fault("On, and nobody has chosen it") }
      if status.cause == .networkLoss, before.mode == .off, !world.ledger.hasChosenOn {
        world.fault("from \(before.mode) to \(status.mode) by itself")
      }
    }
    world.ledger.hasChosenOn = false
    if status.mode == .on, let limit = lossLimit, world.now > limit { world.fault("On without a network") }
    world.ledger.keep(status)
    guard status.storageProblem == nil else { return }
    if (status.mode, status.cause) != (before.mode, before.cause) || before.storageProblem != nil {
      let kept = (try? ModeStore(path: world.folder + "/mode.json").load())?.value
      if kept?.mode != status.mode || kept?.cause != status.cause {
        world.fault("the mode is \(status.mode), and on disk is \(String(describing: kept))")
      }
    }
  }

  /// When the loss of the network has to have changed the mode; `nil` while there is a network, or the host sleeps.
  private var lossLimit: Duration? {
    guard world.weather.path.status != .satisfied, !world.weather.isSuspending else { return nil }
    return [
      world.weather.lostAt + .seconds(5), world.weather.startedAt + .seconds(60), world.weather.wokenAt + .seconds(30),
    ].max()
  }

  /// What runs is what is reported, and what is to.
  private func checkServices(_ status: AgentStatus) {
    let wanted: ComputeService? = [.on: .heartbeat, .bluetoothLocal: .phone][status.mode]
    if status.runState == .running, services.active != [wanted] || services.ready != [wanted] {
      world.fault("it says that it runs, and active are \(services.active), ready \(services.ready)")
    }
    let isBlocked = status.runOnlyWhileCharging && !world.weather.power.onExternalPower
    if isBlocked, status.mode != .off, status.runState != .stopping, !status.runState.isBlocked {
      world.fault("\(status.runState) on battery")
    }
    guard !services.active.isEmpty, isBlocked || services.active != [wanted] else {
      services.unwantedSince = nil
      return
    }
    let since = services.unwantedSince ?? world.now
    services.unwantedSince = since
    if world.now - since > .milliseconds(8100) { world.fault("\(services.active) is still active") }
  }

  /// Each run ends once, and begins only in the background, or by hand.
  func note(_ event: BackgroundTaskEvent) {
    world.tell("\(event)")
    switch event {
    case .began(let identifier, let run):
      if let other = runs.first { world.fault("\(identifier) begins while \(other.value) runs") }
      runs[run] = identifier
    case .ended(let identifier, let run, _):
      if runs.removeValue(forKey: run) == nil { world.fault("run \(run) of \(identifier) has ended twice") }
    case .expired(_, let run, _): if runs[run] == nil { world.fault("run \(run) expires after its end") }
    case .notSaved: break
    }
  }

  /// While something is offered and the agent is in the background, both tasks are pending or run; while nothing is
  /// offered, none is pending.
  func checkTasks() {
    act { life in
      let status = life.runner.status
      let tasks = await life.tasks.tasks
      if life.world.now < life.world.diskIsGoodAt || life.isLeaving || life.seen == nil { return }
      let offers = status.mode != .off && !status.runState.isBlocked
      let lacks = tasks.filter { $0.wait == nil }
      if !offers, lacks.count < tasks.count { life.world.fault("pending though nothing is offered: \(tasks)") }
      if offers, status.lifecycle?.phase == .background, lacks.contains(where: { !$0.isRunning && !$0.isOverdue }) {
        life.world.fault("not pending in the background: \(tasks)")
      }
    }
  }
}

extension RunState {
  var isBlocked: Bool { if case .blocked = self { true } else { false } }
}
