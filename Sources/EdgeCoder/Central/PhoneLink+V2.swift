extension PhoneLink {
  /// Opens the phone's v2 link, if it offers one. Without it everything goes over the characteristics, so a failure is
  /// logged and no more.
  func openLink(over connection: any PhoneConnection) async {
    let (time, limit) = (context.time, configuration.subscribeLimit)
    do {
      let opened = try await time.withLimit(limit, orThrow: LinkError("opening the v2 link", limit)) {
        try await connection.openLink()
      }
      guard let channel = opened else { return }
      let client = LinkClient(
        channel, deflates: configuration.compressesLink, replyLimit: configuration.messageLimit, time: time)
      let task = Task {
        let reason = await client.run()
        linkEnded(client, reason)
      }
      // Before anything waits: the link may end at any moment, and its end must find it here.
      link = (client, task)
      try await withTaskCancellationHandler {
        try await client.waitUntilReady()
      } onCancel: {
        task.cancel()
      }
    } catch {
      link = nil
      context.logger.notice("no v2 link", metadata: ["phone": "\(id)", "reason": "\(error)"])
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
