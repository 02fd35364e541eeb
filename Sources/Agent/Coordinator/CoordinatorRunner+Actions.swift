internal import Logging

extension CoordinatorRunner {
  func perform(_ action: CoordinatorMachine.Action) {
    switch action {
    case .save: save()
    case .send(let call, let isSigned): send(call, isSigned: isSigned)
    case .connected:
      if let run { Task { await run.whenReady() } }
    case .refused(let reason):
      run?.end.yield(AgentError(.refused, reason))
    case .work(let task):
      work = start { runner in
        let work = await runner.client.work(on: task)
        runner.handle(.worked(task.id, work))
      }
    case .cancelWork: work?.cancel()
    case .keep(let entry): keep(entry)
    case .discard(let number): disk.outbox.discard(number)
    case .log(let text): log.append(.coordinator, text)
    case .tell(let text): log.announce(.work, text)
    case .pushed(let push):
      log.append(.coordinator, "the coordinator asks to look at its \(push.rawValue)")
      options.network.onPush(push)
    }
  }

  private func keep(_ entry: ResultOutbox.Entry) {
    do {
      try disk.outbox.keep(entry)
    } catch {
      reportStorageProblem("a result is in memory only, and lost at a restart: \(error)")
      handle(.notKept(entry.number))
    }
  }

  /// Reports a problem once, until a file was written again: a disk stays full for long.
  private func reportStorageProblem(_ problem: String) {
    if !disk.hasProblem { log.append(.storage, problem) }
    disk.hasProblem = true
    options.logger.error("a file cannot be written", metadata: ["reason": "\(problem)"])
  }

  private func save() {
    do {
      try disk.store.save(machine.session, at: options.clocks)
      disk.hasProblem = false
      if !machine.storage.isStored { handle(.saved) }
    } catch {
      reportStorageProblem("the session with the coordinator is in memory only: \(error)")
      handle(.notSaved)
    }
  }

  private func send(_ call: CoordinatorMachine.Call, isSigned: Bool) {
    let number = calls.nextNumber
    calls.nextNumber += 1
    calls.tasks[number] = start { runner in
      let outcome = await runner.client.outcome(of: call, for: runner.machine, isSigned: isSigned)
      runner.calls.tasks[number] = nil
      runner.handle(.ended(call, outcome))
    }
  }
}
