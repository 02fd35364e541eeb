internal import Logging

extension CoordinatorRunner {
  func perform(_ effect: CoordinatorMachine.Effect) {
    switch effect {
    case .save: save()
    case .send(let call, let isSigned): send(call, isSigned: isSigned)
    case .connected:
      if let run { Task { await run.whenReady() } }
    case .refused(let reason):
      run?.end.yield(AgentError(.refused, reason, hint: "`edgeblue status` says when this machine asks again"))
    case .work(let task):
      work = Task {
        let work = await attempt(task)
        handle(.worked(task.id, work))
      }
    case .cancelWork: work?.cancel()
    case .keep(let entry): keep(entry)
    case .discard(let number): outbox.discard(number)
    case .log(let text): log.append(.coordinator, text)
    }
  }

  private func keep(_ entry: ResultOutbox.Entry) {
    do {
      try outbox.keep(entry)
    } catch {
      tell("a result holds until the program ends, and is not on disk: \(error)")
      handle(.notKept(entry.number))
    }
  }

  /// Once, until the disk takes something again: a disk stays full for long.
  private func tell(_ problem: String) {
    if !hasStorageProblem { log.append(.storage, problem) }
    hasStorageProblem = true
    options.logger.error("a file cannot be written", metadata: ["reason": "\(problem)"])
  }

  private func save() {
    do {
      try store.save(machine.session, at: options.clocks)
      hasStorageProblem = false
      if machine.unsavedUntil != nil { handle(.saved) }
    } catch {
      tell("what is agreed with the coordinator holds, but not after a restart: \(error)")
      handle(.notSaved)
    }
  }

  private func send(_ call: CoordinatorMachine.Call, isSigned: Bool) {
    let number = nextCall
    nextCall += 1
    calls[number] = Task {
      let outcome = await outcome(of: call, isSigned: isSigned)
      calls[number] = nil
      handle(.ended(call, outcome))
    }
  }

  /// What is told now.
  func makeStatus() -> CoordinatorStatus {
    lastHeartbeat = wall(machine.session.lastHeartbeat, lastHeartbeat)
    nextHeartbeat = wall(machine.nextControl, nextHeartbeat)
    var status = CoordinatorStatus(
      address: transport.address, agentID: identity.agentID, isRegistered: machine.session.isRegistered,
      lastHeartbeatAtMs: lastHeartbeat?.ms, nextHeartbeatAtMs: nextHeartbeat?.ms, problem: machine.problem)
    let counters = machine.counters
    (status.isWorking, status.resultsWaiting) = (machine.job != nil, machine.results.count)
    (status.jobsDone, status.jobsFailed) = (counters.done, counters.failed)
    (status.resultsUnwanted, status.dropReasons) = (counters.unwanted, counters.drops.counts)
    status.heldBecause = machine.isActive ? counters.held : nil
    return status
  }

  /// An instant by the wall clock. The same instant is always the same, or the status would change without end.
  private func wall(_ instant: Duration?, _ known: WallInstant?) -> WallInstant? {
    guard let instant, known?.instant != instant else { return instant == nil ? nil : known }
    return WallInstant(instant: instant, ms: options.wallClock() + (instant - options.time.now).wholeMilliseconds)
  }
}
