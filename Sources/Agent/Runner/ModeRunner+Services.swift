internal import ErrorReporting
internal import Logging

extension ModeRunner {
  /// Handles an event, and performs all actions in order.
  func handle(_ event: ModeMachine.Event) {
    guard phase != .stopped else { return }
    for action in machine.handle(event) { perform(action) }
    publish()
  }

  /// Passes on the changes of the network that the mode follows.
  func follow(_ event: NetworkGate.Event) {
    guard phase != .stopped else { return }
    for action in network.gate.handle(event, at: options.time.now) {
      switch action {
      case .found: handle(.networkFound)
      case .lost(let reason): handle(.networkLost(because: reason))
      }
    }
    network.timer?.cancel()
    network.timer = network.gate.wakeAt.map { instant in
      timer(instant - options.time.now) { $0.follow(.tick) }
    }
  }

  private func perform(_ action: ModeMachine.Action) {
    switch action {
    case .persist(let record): persist(record)
    case .log(let entry): record(entry)
    case .notify(let notice): options.notify(notice)
    case .start(let service): start(service)
    case .stop(let service): stop(service)
    case .retryLater(let service): retryLater(service)
    }
  }

  private func record(_ entry: ModeMachine.LogEntry) {
    if case .downgraded = entry { publisher.counters.downgrades += 1 }
    if case .failed(let service, let reason) = entry {
      let before = services.failures[service]
      services.failures[service] = ((before?.count ?? 0) + 1, reason)
      publisher.counters.failures += 1
      publisher.lastFailure = entry.description
      options.logger.warning("a service failed", metadata: ["service": "\(service)", "reason": "\(reason)"])
      // A repeated failure is only counted: one that lasts a month must not push everything else out of the log.
      if before?.reason == reason { return }
    }
    log.append(entry.kind, entry.description)
  }

  func publish() {
    publisher.publish(machine, storageProblem: storage.failure?.error ?? log.problem, eventCount: log.count)
  }

  // MARK: Services

  private func start(_ service: ComputeService) {
    let number = services.nextJob
    services.nextJob += 1
    publisher.counters.starts += 1
    guard let runner = services.runners[service] else { return }
    // Not a child of `run`: one that does not stop would keep that from ever returning.
    let work = Task {
      var reason: String?
      do {
        try await runner.run { await self.started(service, number) }
      } catch is CancellationError {
        // The service was told to stop.
      } catch {
        reason = error.safeText
      }
      ended(service, because: reason)
    }
    services.jobs[service] = Services.Job(number: number, work: work)
  }

  private func started(_ service: ComputeService, _ number: Int) {
    guard let job = services.jobs[service], job.number == number, job.worksSince == nil else { return }
    services.jobs[service]?.worksSince = options.time.now
    // A service that is to stop meanwhile is not reported as working.
    if machine[service] == .starting { log.append(.started, "the \(service.rawValue) service works") }
    handle(.started(service))
  }

  private func stop(_ service: ComputeService) {
    services.jobs[service]?.work.cancel()
    let limit = options.stopLimit
    services.jobs[service]?.stopTimer = timer(limit) { runner in
      let problem = AgentError(.serviceHangs, "the \(service.rawValue) service has not stopped within \(limit)")
      runner.log.append(.failed, problem.description)
      runner.finish(problem)
    }
  }

  private func ended(_ service: ComputeService, because reason: String?) {
    let job = services.jobs.removeValue(forKey: service)
    job?.stopTimer?.cancel()
    if let since = job?.worksSince {
      if options.time.now - since >= options.steadyAfter { services.failures[service] = nil }
      if machine[service] == .stopping { log.append(.stopped, "the \(service.rawValue) service has stopped") }
    }
    handle(.ended(service, because: reason))
    finishIfStopped()
  }

  private func retryLater(_ service: ComputeService) {
    services.retries[service]?.cancel()
    let failures = services.failures[service]?.count ?? 1
    let delay = options.backoff.delay(afterFailures: failures, random: options.random())
    services.retries[service] = timer(delay) { $0.handle(.retry(service)) }
  }

  // MARK: The mode on disk

  private func persist(_ record: ModeRecord) {
    storage.retry?.cancel()
    storage.retry = nil
    do {
      try storage.save(record)
      if storage.failure != nil { log.append(.storage, "the mode is kept on disk again") }
      storage.failure = nil
    } catch {
      let failures = (storage.failure?.count ?? 0) + 1
      publisher.counters.savesFailed += 1
      if storage.failure == nil {
        log.append(.storage, "the mode \(record.mode) holds, but not after a restart: \(error)")
        options.logger.error("the mode cannot be kept", metadata: ["reason": "\(error)"])
      }
      storage.failure = (error, failures)
      let delay = options.backoff.delay(afterFailures: failures, random: options.random())
      storage.retry = timer(delay) { $0.persistAgain() }
    }
  }

  func persistAgain() {
    persist(machine.record)
    publish()
  }

  // MARK: The end

  func shutDown() {
    guard phase == .running else { return }
    phase = .stopping
    handle(.shutDown)
    finishIfStopped()
  }

  private func finishIfStopped() {
    if phase == .stopping, services.jobs.isEmpty { finish(nil) }
  }

  /// Ends the run. Only the first call counts.
  func finish(_ problem: AgentError?) {
    end.yield(problem)
    end.finish()
  }

  func cancelTimers() {
    storage.retry?.cancel()
    network.timer?.cancel()
    for retry in services.retries.values { retry.cancel() }
    for job in services.jobs.values { job.stopTimer?.cancel() }
  }

  /// Performs an action after a delay, unless it is cancelled before.
  private func timer(
    _ delay: Duration, _ action: @escaping @Sendable (isolated ModeRunner) -> Void
  ) -> Task<Void, Never> {
    // The delay counts from now on, and not from the start of the task.
    let deadline = options.time.now + delay
    return Task {
      do { try await options.time.sleep(until: deadline) } catch { return }
      // The task may have been cancelled while it was woken.
      if !Task.isCancelled { action(self) }
    }
  }
}
