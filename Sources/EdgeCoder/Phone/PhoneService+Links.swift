import Logging
import Streams

extension PhoneService {
  /// Serves the v2 links that centrals open, until the transport ends.
  func serve(_ channels: BoundedStream<any LinkChannel>) async {
    await withDiscardingTaskGroup { group in
      for await channel in channels {
        guard links.count < configuration.peerLimit else {
          logger.warning("a v2 link too many", metadata: ["central": "\(channel.peer)"])
          await channel.close()
          continue
        }
        let number = nextLink
        nextLink += 1
        let server = LinkServer(channel, requestLimit: configuration.requestLimit, time: time) { action in
          await self.handle(action, link: number, from: channel.peer)
        }
        links[number] = server
        logger.info("v2 link", metadata: ["central": "\(channel.peer)"])
        group.addTask {
          let reason = await server.run()
          await self.linkEnded(number, of: channel.peer, reason)
        }
      }
      group.cancelAll()
    }
  }

  private func handle(_ action: LinkServerMachine.Action, link: Int, from peer: PeerID) async {
    switch action {
    case .request(let stream, let prompt, let maxTokens):
      let request = Wire.Request(id: "\(link).\(stream)", prompt: prompt, maxTokens: maxTokens)
      let ticket = LinkTicket(link: link, stream: stream)
      await perform(machine.handle(request, ticket: ticket, from: peer, at: time.now))
      if let place = machine.queue.waiting.firstIndex(where: { $0.ticket == ticket }) {
        await links[link]?.progress(stream, ahead: place + (machine.queue.running == nil ? 0 : 1))
      }
    case .cancel(let stream): await perform(machine.cancel(link: link, stream: stream))
    }
  }

  private func linkEnded(_ link: Int, of peer: PeerID, _ reason: String) async {
    links[link] = nil
    logger.info("the v2 link ended", metadata: ["central": "\(peer)", "reason": "\(reason)"])
    await perform(machine.cancel(link: link, stream: nil))
  }

  /// What an engine says goes out at once where there is a link; elsewhere it waits for the whole.
  func say(_ piece: String, _ job: PhoneJob) async {
    guard let ticket = job.ticket, !piece.isEmpty else { return }
    await links[ticket.link]?.append(ticket.stream, piece)
  }
}
