import Timing

extension PhoneService {
  /// What a phone answers when no model is ready, as the phone application does.
  static let noModelOutput = "[no model loaded]"
  /// What a phone answers when the model had nothing to say, as the phone application does.
  static let emptyOutput = "[empty response]"

  /// Runs jobs one after another.
  func runJobs() async {
    for await _ in runnerWake.calls {
      while !Task.isCancelled, let job = machine.startJob() {
        let outcome = await runCancellably(job)
        logger.debug(
          "job done",
          metadata: [
            "job": "\(job.number)", "central": "\(job.peer)", "ok": "\(outcome.ok)", "ms": "\(outcome.durationMs)",
            "bytes": "\(outcome.output.utf8.count)",
          ])
        await perform(machine.finish(job.number, outcome))
        if outcome.engineFailed { statusWake.signal() }
      }
    }
  }

  private func runCancellably(_ job: PhoneJob) async -> JobOutcome {
    let task = Task { await answer(job) }
    answering = (job.number, task)
    defer { answering = nil }
    return await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
  }

  private func answer(_ job: PhoneJob) async -> JobOutcome {
    let request = job.request
    let started = time.now
    func outcome(_ output: String, ok: Bool, isCut: Bool = false, engineFailed: Bool = false) -> JobOutcome {
      JobOutcome(
        output: output, status: ok ? .ok : .failed, durationMs: (time.now - started).milliseconds, isCut: isCut,
        engineFailed: engineFailed)
    }
    if board.current?.modelState != ModelState.ready.rawValue {
      // What was known is not that the model is ready; ask again before saying no.
      let status = await readStatus()
      if status != board.current { statusWake.signal() }
      guard status.modelState == ModelState.ready.rawValue else {
        let isAbsent = status.modelState == ModelState.notInstalled.rawValue
        let output = isAbsent ? Self.noModelOutput : "\(Self.noModelOutput) its state is \(status.modelState)"
        return JobOutcome(output: output, status: .noModel, durationMs: 0)
      }
    }
    let engine = engine
    // Nobody hears what there is of a reply before its end but over a link.
    let (jobLimit, isStream) = (configuration.jobLimit, job.ticket != nil)
    let limits = ProgressLimits(
      first: jobLimit, pause: jobLimit, total: isStream ? configuration.streamLimit : jobLimit)
    // What surrounds the output in an encoded reply: field names, numbers, and the id.
    let overhead = 96 + JSONObjectWriter.encodedLength(of: request.id)
    let empty = OutputAccumulator(limit: configuration.replyLimit - overhead)
    do {
      let output = try await time.withLimits(limits, orThrow: { [time] in Self.late(time.now - started, limits) }) {
        step in
        var output = empty
        let maxTokens = request.maxTokens ?? Wire.defaultMaxTokens
        for try await piece in engine.generate(prompt: request.prompt, maxTokens: maxTokens) {
          if isStream { step() }
          await self.say(output.append(piece), job)
          if output.isCut { break }
        }
        return output
      }
      if output.text.isEmpty || output.text == Self.emptyOutput { return outcome(Self.emptyOutput, ok: false) }
      return outcome(output.text, ok: true, isCut: output.isCut)
    } catch {
      let reason = (error as? EngineError)?.description ?? "engine failed: \(error)"
      return outcome("[\(reason)]", ok: false, engineFailed: !(error is CancellationError))
    }
  }

  private static func late(_ time: Duration, _ limits: ProgressLimits) -> EngineError {
    let isStill = time < limits.total
    let seconds = (isStill ? limits.pause : limits.total).milliseconds / 1000
    return EngineError(.timedOut, isStill ? "no text within \(seconds) s" : "no complete answer within \(seconds) s")
  }
}
