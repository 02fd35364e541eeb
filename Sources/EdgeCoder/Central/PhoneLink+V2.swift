extension PhoneLink {
  /// Opens the phone's v2 link over the best of what it offers. Where none comes about everything goes over the
  /// characteristics, so a failure is logged and no more.
  func openLink(of connection: any PhoneConnection) async {
    guard !configuration.linkBearers.isEmpty else { return }
    let (time, limit) = (context.time, configuration.subscribeLimit)
    do {
      let offered = try await time.withLimit(limit, orThrow: LinkError("asking for v2 links", limit)) {
        try await connection.linkBearers()
      }
      for bearer in offered where configuration.linkBearers.contains(bearer) && link == nil {
        await openLink(of: connection, over: bearer)
      }
    } catch {
      context.logger.notice("no v2 link", metadata: ["phone": "\(id)", "reason": "\(error)"])
    }
  }

  private func openLink(of connection: any PhoneConnection, over bearer: LinkBearer) async {
    let (time, limit) = (context.time, configuration.subscribeLimit)
    do {
      let channel = try await time.withLimit(limit, orThrow: LinkError("opening the v2 link", limit)) {
        try await connection.openLink(over: bearer)
      }
      let client = LinkClient(
        channel, deflates: configuration.compressesLink, replyLimit: configuration.messageLimit, time: time)
      let task = Task {
        let reason = await client.run()
        linkEnded(client, reason)
      }
      // Before anything waits: the link may end at any moment, and its end must find it here.
      link = (client, bearer, task)
      try await withTaskCancellationHandler {
        try await client.waitUntilReady()
      } onCancel: {
        task.cancel()
      }
    } catch {
      link = nil
      context.logger.notice(
        "no v2 link", metadata: ["phone": "\(id)", "bearer": "\(bearer.rawValue)", "reason": "\(error)"])
    }
  }

  /// What comes after goes over the characteristics, until the phone is connected anew.
  private func linkEnded(_ client: LinkClient, _ reason: String) {
    guard link?.client === client else { return }
    link = nil
    context.logger.notice("the v2 link ended", metadata: ["phone": "\(id)", "reason": "\(reason)"])
  }

  func send(
    _ request: Wire.Request, over client: LinkClient, onText: @Sendable (String) async -> Void
  ) async throws -> Wire.Response {
    do {
      let reply = try await client.exchange(prompt: request.prompt, maxTokens: request.maxTokens, onText: onText)
      lastSeenMs = context.wallClock()
      let isOK = reply.status == .ok
      return Wire.Response(
        id: request.id, output: isOK ? reply.text : "[\(reply.text)]", ok: isOK, durationMs: reply.durationMs)
    } catch let error as LinkClient.Ended {
      throw InferenceError(.disconnected, "the v2 link to \(name) ended: \(error)")
    }
  }
}
