import Logging
import Streams

extension PhoneService {
  /// Serves the v2 muxes that centrals open, until the transport ends.
  func serve(_ channels: BoundedStream<any MuxChannel>) async {
    await withDiscardingTaskGroup { group in
      for await channel in channels {
        guard muxes.count < configuration.peerLimit else {
          logger.warning("v2 mux refused: too many", metadata: ["central": "\(channel.peer)"])
          await channel.close()
          continue
        }
        let number = nextMux
        nextMux += 1
        let server = MuxServer(channel, requestLimit: configuration.requestLimit, time: time) { action in
          await self.handle(action, mux: number, from: channel.peer)
        }
        muxes[number] = server
        logger.info("v2 mux opened", metadata: ["central": "\(channel.peer)"])
        group.addTask {
          let reason = await server.run()
          await self.muxClosed(number, of: channel.peer, reason)
        }
      }
      group.cancelAll()
    }
  }

  private func handle(_ action: MuxServerMachine.Action, mux: Int, from peer: PeerID) async {
    switch action {
    case .request(let number, let prompt, let maxTokens):
      let request = Wire.Request(id: "\(mux).\(number)", prompt: prompt, maxTokens: maxTokens)
      await accept(request, MuxStream(mux: mux, number: number), from: peer, bytes: nil)
    case .form(let number, let asked, let bytes):
      var request = Wire.Request(id: "\(mux).\(number)", prompt: asked.prompt, maxTokens: asked.maxTokens)
      request.details = asked.details
      await accept(request, MuxStream(mux: mux, number: number), from: peer, bytes: bytes)
    case .cancel(let number): await perform(machine.cancel(mux: mux, stream: number))
    }
  }

  private func accept(_ request: Wire.Request, _ stream: MuxStream, from peer: PeerID, bytes: Int?) async {
    await perform(machine.handle(request, stream: stream, from: peer, bytes: bytes, at: time.now))
    await reportQueue()
  }

  /// Reports the number of requests ahead to each central whose request waits, if it has changed.
  func reportQueue() async {
    let running = machine.queue.running.count
    var ahead: [MuxStream: Int] = [:]
    for (index, job) in machine.queue.order.enumerated() where index + running > 0 {
      if let stream = job.stream { ahead[stream] = index + running }
    }
    let changed = ahead.filter { work.reportedAhead[$0.key] != $0.value }
    work.reportedAhead = ahead
    for (stream, count) in changed { await muxes[stream.mux]?.progress(stream.number, ahead: count) }
  }

  private func muxClosed(_ mux: Int, of peer: PeerID, _ reason: String) async {
    muxes[mux] = nil
    logger.info("v2 mux closed", metadata: ["central": "\(peer)", "reason": "\(reason)"])
    await perform(machine.cancel(mux: mux, stream: nil))
  }

  /// Sends the end of a reply over a v2 mux.
  func finish(_ stream: MuxStream, _ outcome: JobOutcome) async {
    guard let mux = muxes[stream.mux] else { return }
    if outcome.isTruncated, await !mux.tellsCompletion {
      await mux.append(stream.number, OutputAccumulator.truncationNote)
    }
    await mux.finish(
      stream.number,
      MuxEnding(
        durationMs: outcome.durationMs, refusal: outcome.answer.refusal, completion: outcome.completion))
  }

  /// Sends a part of a reply at once over a v2 mux; without one the text waits for the whole reply.
  func deliver(_ part: ReplyPart, of job: PhoneJob) async {
    guard let stream = job.stream, ![.text(""), .thinking("")].contains(part) else { return }
    await muxes[stream.mux]?.append(stream.number, part)
  }
}
