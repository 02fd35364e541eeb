extension PhoneMachine {
  /// A request came over a v2 link.
  mutating func handle(_ request: Wire.Request, ticket: LinkTicket, from peer: PeerID, at now: Duration) -> [Action] {
    let bytes = request.prompt.utf8.count
    rates.charge(peer, bytes: bytes, at: now)
    switch admit(request, bytes: bytes, from: peer, rates.admit(peer, at: now), ticket: ticket) {
    case .accepted: return [.wakeRunner]
    // Each stream has a number of its own.
    case .duplicate: return []
    case .refused(let kind, let reason):
      return [.noteRefusal(peer, kind), .endReply(ticket, .refusal(.busy, reason))]
    }
  }

  /// A central no longer wants a reply; with `nil` for the stream, the link has ended.
  mutating func cancel(link: Int, stream: UInt32?) -> [Action] {
    let cancelled = queue.cancel { $0.ticket?.link == link && (stream == nil || $0.ticket?.stream == stream) }
    counters.cancelled += cancelled.waiting + (cancelled.running == nil ? 0 : 1)
    return (cancelled.running.map { [.cancelJob($0.number)] } ?? []) + [.wakeRunner]
  }

  /// The reply to a request over a v2 link is known whole.
  mutating func finish(_ ticket: LinkTicket, _ outcome: JobOutcome) -> [Action] {
    counters.replies += 1
    counters.replyBytes += outcome.output.utf8.count
    return [.endReply(ticket, outcome), .wakeRunner]
  }
}
