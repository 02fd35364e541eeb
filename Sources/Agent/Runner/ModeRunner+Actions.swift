internal import Logging

extension ModeRunner {
  /// Takes in an event and does what follows from it, all of it, in order.
  func handle(_ event: ModeMachine.Event) {
    guard !isOver else { return }
    for effect in machine.handle(event) { perform(effect) }
    publish()
  }

  private func perform(_ effect: ModeMachine.Effect) {
    switch effect {
    case .persist(let record): persist(record)
    case .log(let entry): note(entry)
    case .notify(let notice): options.notify(notice)
    case .start(let service): start(service)
    case .stop(let service): stop(service)
    case .retryLater(let service): retryLater(service)
    }
  }

  private func note(_ entry: ModeMachine.LogEntry) {
    if case .downgraded = entry { counters.downgrades += 1 }
    if case .failed(let service, let reason) = entry {
      let before = failures[service]
      failures[service] = ((before?.count ?? 0) + 1, reason)
      counters.failures += 1
      lastFailure = entry.description
      options.logger.warning("a service failed", metadata: ["service": "\(service)", "reason": "\(reason)"])
      // The same again is counted: what fails for a month must not push everything else out of the log.
      if before?.reason == reason { return }
    }
    log.append(entry.kind, entry.description)
  }

  func publish() {
    let status = AgentStatus(
      machine: machine, lifecycle: lifecycle, path: path, power: power, coordinator: coordinator, uploads: uploads,
      counters: counters, lastFailure: lastFailure, storageProblem: (storageProblem ?? log.problem)?.description,
      eventCount: log.count)
    if status != feed.newest { feed.publish(status) }
  }

  // MARK: Services

  private func start(_ service: ComputeService) {
    let number = nextJob
    nextJob += 1
    counters.starts += 1
    guard let runner = runners[service] else { return }
    // Not a child of `run`: one that does not stop would keep that from ever returning.
    let work = Task {
      var reason: String?
      do {
        try await runner.run { await self.started(service, number) }
      } catch is CancellationError {
        // It was to stop.
      } catch {
        reason = "\(error)"
      }
      ended(service, because: reason)
    }
    jobs[service] = Job(number: number, work: work)
  }

  private func started(_ service: ComputeService, _ number: Int) {
    guard let job = jobs[service], job.number == number, job.worksSince == nil else { return }
    jobs[service]?.worksSince = options.time.now
    // One that is to stop meanwhile is not about to work.
    if machine[service] == .starting { log.append(.started, "the \(service.rawValue) service works") }
    handle(.started(service))
  }

  private func stop(_ service: ComputeService) {
    jobs[service]?.work.cancel()
    let limit = options.stopLimit
    jobs[service]?.stopTimer = timer(limit) { runner in
      let problem = AgentError(.serviceHangs, "the \(service.rawValue) service has not stopped within \(limit)")
      runner.log.append(.failed, problem.description)
      runner.finish(problem)
    }
  }

  private func ended(_ service: ComputeService, because reason: String?) {
    let job = jobs.removeValue(forKey: service)
    job?.stopTimer?.cancel()
    if let since = job?.worksSince {
      if options.time.now - since >= options.steadyAfter { failures[service] = nil }
      if machine[service] == .stopping { log.append(.stopped, "the \(service.rawValue) service has stopped") }
    }
    handle(.ended(service, because: reason))
    if isEnding, jobs.isEmpty { finish(nil) }
  }

  private func retryLater(_ service: ComputeService) {
    retries[service]?.cancel()
    let delay = options.backoff.delay(afterFailures: failures[service]?.count ?? 1, random: options.random())
    retries[service] = timer(delay) { $0.handle(.retry(service)) }
  }

  // MARK: The disk

  private func persist(_ record: ModeRecord) {
    saveRetry?.cancel()
    saveRetry = nil
    do {
      try save(record)
      if storageProblem != nil { log.append(.storage, "the mode is kept on disk again") }
      (storageProblem, savesFailed) = (nil, 0)
    } catch {
      savesFailed += 1
      counters.savesFailed += 1
      if storageProblem == nil {
        log.append(.storage, "the mode \(record.mode) holds, but not after a restart: \(error)")
        options.logger.error("the mode cannot be kept", metadata: ["reason": "\(error)"])
      }
      storageProblem = error
      let delay = options.backoff.delay(afterFailures: savesFailed, random: options.random())
      saveRetry = timer(delay) { $0.persistAgain() }
    }
  }

  func persistAgain() {
    persist(machine.record)
    publish()
  }

  // MARK: The end

  func shutDown() {
    guard !isEnding else { return }
    isEnding = true
    handle(.shutDown)
    if jobs.isEmpty { finish(nil) }
  }

  /// Ends the run; the first call counts.
  func finish(_ problem: AgentError?) {
    end.yield(problem)
    end.finish()
  }

  func cancelTimers() {
    saveRetry?.cancel()
    for retry in retries.values { retry.cancel() }
    for job in jobs.values { job.stopTimer?.cancel() }
  }

  /// Does something after a while, unless it is cancelled before.
  private func timer(
    _ delay: Duration, _ action: @escaping @Sendable (isolated ModeRunner) -> Void
  ) -> Task<Void, Never> {
    // From now on, and not from when the task begins.
    let deadline = options.time.now + delay
    return Task {
      do { try await options.time.sleep(until: deadline) } catch { return }
      // Cancelled while it was woken.
      if !Task.isCancelled { action(self) }
    }
  }
}
