internal import ErrorReporting
import Timing

extension PhoneService {
  /// The reason of a refusal when no model is ready, as in the phone application.
  static let noModelReason = "no model loaded"
  /// The reason of a refusal when the model returned nothing, as in the phone application.
  static let emptyReason = "empty response"

  /// Runs jobs, as many at a time as the engine bears.
  func runJobs() async {
    await withDiscardingTaskGroup { group in
      for await _ in runnerWake.signals {
        while !Task.isCancelled, let job = machine.startJob() {
          feed.publish(.answering)
          let task = Task { await answer(job) }
          work.running[job.number] = task
          group.addTask { await self.finish(job, task) }
        }
        await reportQueue()
      }
      group.cancelAll()
    }
  }

  /// Waits for the end of a job, and passes on its outcome.
  private func finish(_ job: PhoneJob, _ task: Task<JobOutcome, Never>) async {
    let outcome = await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
    work.running[job.number] = nil
    let answer = outcome.answer
    logger.debug(
      "job done",
      metadata: [
        "job": "\(job.number)", "central": "\(job.peer)", "ok": "\(answer.ok)", "ms": "\(outcome.durationMs)",
        "bytes": "\(answer.output.utf8.count)",
      ])
    await perform(machine.finish(job.number, outcome))
    if outcome.engineFailed { statusWake.signal() }
  }

  private func answer(_ job: PhoneJob) async -> JobOutcome {
    if let refusal = await refusalWithoutModel() { return JobOutcome(.refusal(refusal), durationMs: 0) }
    let started = time.now
    func outcome(_ result: JobOutcome.Result) -> JobOutcome {
      JobOutcome(result, durationMs: Int((time.now - started).milliseconds(rounded: .towardZero)))
    }
    do {
      let output = try await generate(job, started: started)
      // Some engines return the text of the phone application for an empty reply.
      // One whose tokens the thinking used up is none.
      let isCut = output.hasThinking && output.completion.reason == .length
      let isEmpty = !output.hasToolCalls && !isCut && (output.text.isEmpty || output.text == "[\(Self.emptyReason)]")
      guard !isEmpty else { return outcome(.refusal(Answer.Refusal(.failed, Self.emptyReason))) }
      return outcome(.text(output.text, isTruncated: output.isTruncated, output.completion))
    } catch let error as EngineError {
      return outcome(Self.result(of: error))
    } catch let error as CancellationError {
      return outcome(.refusal(Answer.Refusal(.failed, "engine failed: \(error)")))
    } catch {
      return outcome(.engineFailure("engine failed: \(error.safeText)"))
    }
  }

  /// Returns the refusal or the failure of an engine.
  ///
  /// A central without the v2 mux knows the kind of a refusal by its first words.
  private static func result(of error: EngineError) -> JobOutcome.Result {
    switch error.code {
    case .busy: .refusal(Answer.Refusal(.busy, "busy: \(error.message)"))
    case .noModel: .refusal(Answer.Refusal(.noModel, "\(noModelReason): \(error.message)"))
    case .contextExceeded: .refusal(Answer.Refusal(.contextExceeded, error.message))
    case .unsupported: .refusal(Answer.Refusal(.unsupported, error.message))
    default: .engineFailure("\(error)")
    }
  }

  /// Returns the refusal of a request while no model is ready; `nil` when one is.
  private func refusalWithoutModel() async -> Answer.Refusal? {
    let ready = ModelState.ready.rawValue
    guard board.current?.modelState != ready else { return nil }
    // The last known state is not ready; the engine is polled again before a refusal.
    let status = await readStatus()
    if status != board.current { statusWake.signal() }
    guard status.modelState != ready else { return nil }
    let isAbsent = status.modelState == ModelState.notInstalled.rawValue
    let detail = isAbsent ? "" : "; its state is \(status.modelState)"
    return Answer.Refusal(.noModel, Self.noModelReason + detail)
  }

  private func generate(_ job: PhoneJob, started: Duration) async throws -> OutputAccumulator {
    let engine = engine
    var asked = InferenceRequest(prompt: job.request.prompt, maxTokens: job.request.maxTokens)
    asked.details = job.request.details
    let request = asked
    let ignored = try engine.ignored(of: request)
    // Without a mux the central receives nothing before the end of the reply.
    let isStream = job.stream != nil
    let timeouts = configuration.timeouts
    let limits = ProgressLimits(
      first: timeouts.text, pause: timeouts.text, total: isStream ? timeouts.reply : timeouts.text)
    // The encoded reply without the output: field names, numbers, and the identifier.
    let overhead = 96 + JSONObjectWriter.encodedLength(of: job.request.id)
    let empty = OutputAccumulator(limit: configuration.replyLimit - overhead)
    return try await time.withLimits(limits, orThrow: { [time] in Self.late(time.now - started, limits) }) { step in
      var output = empty
      var reply = PartSequence(ignored: ignored)
      reading: for try await next in engine.generate(request) {
        if isStream { step() }
        for part in reply.parts(of: try output.take(next)) { await self.deliver(part, of: job) }
        if output.isComplete { break reading }
      }
      return output
    }
  }

  private static func late(_ time: Duration, _ limits: ProgressLimits) -> EngineError {
    let isPause = time < limits.total
    let seconds = Int((isPause ? limits.pause : limits.total).inSeconds)
    return EngineError(.timedOut, isPause ? "no text within \(seconds) s" : "no complete reply within \(seconds) s")
  }
}
