extension ReconnectingPhone {
  /// Opens a v2 mux over the best bearer that the phone offers.
  ///
  /// Without a mux all requests use the characteristics, so a failure is only logged.
  func openMux(of connection: any PhoneConnection) async {
    guard !configuration.mux.bearers.isEmpty else { return }
    let time = context.time
    let timeout = configuration.timeouts.subscribe
    do {
      let offered = try await time.withLimit(timeout, orThrow: PhaseTimeout("reading the mux offer", timeout)) {
        try await connection.muxBearers()
      }
      for bearer in offered where configuration.mux.bearers.contains(bearer) && mux == nil {
        await openMux(of: connection, over: bearer)
      }
    } catch {
      context.logger.notice("v2 mux unavailable", metadata: ["phone": "\(id)", "reason": "\(error)"])
    }
  }

  private func openMux(of connection: any PhoneConnection, over bearer: MuxBearer) async {
    let time = context.time
    let timeout = configuration.timeouts.subscribe
    do {
      let channel = try await time.withLimit(timeout, orThrow: PhaseTimeout("opening the v2 mux", timeout)) {
        try await connection.openMux(over: bearer)
      }
      let client = MuxClient(
        channel, deflates: configuration.mux.compressesText, replyLimit: configuration.messageLimit, time: time)
      let task = Task {
        let reason = await client.run()
        muxClosed(client, reason)
      }
      // Set before any wait: the mux may close at any time, and `muxClosed` must find it here.
      mux = Mux(client: client, bearer: bearer, task: task)
      try await withTaskCancellationHandler {
        try await client.waitUntilReady()
      } onCancel: {
        task.cancel()
      }
      mux?.takesForms = await client.takesForms
    } catch {
      mux = nil
      context.logger.notice(
        "v2 mux unavailable", metadata: ["phone": "\(id)", "bearer": "\(bearer.rawValue)", "reason": "\(error)"])
    }
  }

  /// Uses the characteristics from now on, until the phone is connected again.
  private func muxClosed(_ client: MuxClient, _ reason: String) {
    guard mux?.client === client else { return }
    mux = nil
    context.logger.notice("v2 mux closed", metadata: ["phone": "\(id)", "reason": "\(reason)"])
  }

  func send(
    _ request: Wire.Request, over client: MuxClient, onPart: @Sendable (ReplyPart) async -> Void
  ) async throws -> ReceivedReply {
    var asked = InferenceRequest(prompt: request.prompt, maxTokens: request.maxTokens)
    asked.details = request.details
    do {
      let reply = try await client.exchange(asked, onPart: onPart)
      readings.lastSeenMs = context.wallClockMs()
      return ReceivedReply(answer: reply.answer, completion: reply.completion)
    } catch let error as MuxClient.Closed {
      throw InferenceError(.disconnected, "the v2 mux to \(name) closed: \(error)")
    } catch is MuxClient.BadParts {
      throw InferenceError(.badReply, "the reply of \(name) has parts that are not valid")
    } catch let error as MuxClient.ReplyTooLong {
      throw InferenceError(.badReply, "the reply of \(name) exceeds \(error.limit) bytes")
    }
  }
}
