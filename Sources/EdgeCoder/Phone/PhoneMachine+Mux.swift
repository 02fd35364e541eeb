extension PhoneMachine {
  /// Handles a request that arrived over a v2 mux.
  /// - Parameter bytes: The size of the request as sent; `nil` for that of its prompt.
  mutating func handle(
    _ request: Wire.Request, stream: MuxStream, from peer: PeerID, bytes: Int? = nil, at now: Duration
  ) -> [Action] {
    let bytes = bytes ?? request.prompt.utf8.count
    rates.charge(peer, bytes: bytes, at: now)
    let shortage = rates.admit(peer, at: now)
    let (admission, reports) = admit(request, bytes: bytes, from: peer, shortage, stream: stream)
    if shortage == nil, case .refused = admission { rates.refund(peer, at: now) }
    switch admission {
    case .accepted: return [.wakeRunner] + reports
    // Each stream has its own number.
    case .duplicate: return reports
    case .refused(let cause, let reason):
      let outcome = JobOutcome(.refusal(Answer.Refusal(.busy, reason)), durationMs: 0)
      return [.logRefusal(peer, cause), .finishReply(stream, outcome)] + reports
    }
  }

  /// Cancels a request over a v2 mux; with `nil` for the stream, all requests of a mux that has closed.
  mutating func cancel(mux: Int, stream: UInt32?) -> [Action] {
    cancel(queue.cancel { $0.stream?.mux == mux && (stream == nil || $0.stream?.number == stream) })
  }

  /// Finishes the reply to a request over a v2 mux.
  mutating func finish(_ stream: MuxStream, _ outcome: JobOutcome) -> [Action] {
    [.finishReply(stream, outcome), .wakeRunner] + count(replyOf: outcome.answer.output.utf8.count)
  }
}
