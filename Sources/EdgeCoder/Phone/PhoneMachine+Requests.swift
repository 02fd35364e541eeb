extension PhoneMachine {
  mutating func accept(_ bytes: [UInt8], from peer: PeerID, at now: Duration) -> [Action] {
    let shortage = rates.admit(peer, at: now)
    let request: Wire.Request
    do {
      request = try Wire.Request.decode(bytes)
    } catch {
      return countMalformed()
        + refuse(
          shortage == nil ? error.id : nil, of: peer, .malformed,
          "malformed request: \(error.reason)")
    }
    let (admission, reports) = admit(request, bytes: bytes.count, from: peer, shortage)
    if shortage == nil, case .refused = admission { rates.refund(peer, at: now) }
    switch admission {
    case .accepted: return [.wakeRunner] + reports
    case .duplicate: return reports
    case .refused(let cause, let reason): return refuse(request.id, of: peer, cause, reason) + reports
    }
  }

  enum Admission {
    case accepted
    /// The same central already waits for this reply.
    case duplicate
    case refused(RefusalCause, String)
  }

  /// Adds a request to the queue if its central is within its rates and the queue has a slot.
  mutating func admit(
    _ request: Wire.Request, bytes: Int, from peer: PeerID, _ shortage: PeerRates.Shortage?,
    stream: MuxStream? = nil
  ) -> (Admission, reports: [Action]) {
    counters.requests += 1
    counters.requestBytes += bytes
    var request = request
    // Over a v2 mux the default is that of the engine.
    let maxTokens = request.maxTokens ?? (stream == nil ? Wire.defaultMaxTokens : nil)
    request.maxTokens = maxTokens.map { min(max(1, $0), configuration.maxTokensLimit) }
    let admission = shortage.map { limit($0) } ?? submit(request, from: peer, stream)
    // Those that find a free slot do not wait.
    let waiting = max(0, queue.waiting.count - max(0, queue.slots - queue.running.count))
    let report = Action.report(.request(number: counters.requests, bytes: bytes, waiting: waiting))
    if case .refused = admission { return (admission, [report, .report(.busy)]) }
    return (admission, [report])
  }

  private mutating func submit(_ request: Wire.Request, from peer: PeerID, _ stream: MuxStream?) -> Admission {
    switch queue.submit(request, from: peer, stream: stream) {
    case .accepted: return .accepted
    case .duplicate:
      counters.duplicates += 1
      return .duplicate
    case .full:
      counters.refused.busy += 1
      return .refused(.queueFull, "busy: \(queue.waiting.count) requests are waiting")
    case .fullForPeer:
      counters.refused.busy += 1
      counters.refused.limited += 1
      return .refused(
        .queueFullForPeer, "busy: \(configuration.queue.limitPerCentral) of your requests are waiting")
    }
  }

  private mutating func limit(_ shortage: PeerRates.Shortage) -> Admission {
    counters.refused.busy += 1
    counters.refused.limited += 1
    func busy(_ limit: String, _ wait: Duration) -> String {
      "busy: the limit is \(limit) per minute; retry in \(wait.components.seconds + 1) s"
    }
    switch shortage {
    case .requests(let wait):
      return .refused(.tooManyRequests, busy("\(configuration.rates.requestsPerMinute) requests", wait))
    case .bytes(let wait):
      return .refused(.tooManyBytes, busy("\(configuration.rates.bytesPerMinute) bytes", wait))
    }
  }

  mutating func discard(
    _ refusal: JSONObjectScanner.Refusal, from peer: PeerID, at now: Duration
  ) -> [Action] {
    let cause: RefusalCause
    let reason: String
    switch refusal.reason {
    case .tooLarge:
      cause = .tooLarge
      reason = "the request exceeds \(configuration.requestLimit) bytes"
    case .malformed:
      cause = .malformed
      reason = "malformed request: not JSON from byte \(refusal.bytes) on"
    case .idle, .notAnObject:
      counters.discardedBytes += refusal.bytes
      return []
    }
    let isWithinRates = rates.admit(peer, at: now) == nil
    return countMalformed()
      + refuse(isWithinRates ? Wire.recoverID(fromHead: refusal.head) : nil, of: peer, cause, reason)
  }

  private mutating func countMalformed() -> [Action] {
    counters.refused.malformed += 1
    return [.report(.malformed)]
  }

  /// Queues the refusal of a request; a request without an identifier can only be logged.
  private mutating func refuse(_ id: String?, of peer: PeerID, _ cause: RefusalCause, _ reason: String) -> [Action] {
    let log = Action.logRefusal(peer, cause)
    guard let id else { return [log] }
    let response = Wire.Response(id: id, answer: .refusal(.init(.refused, reason)), durationMs: 0)
    if outbox.add(PhoneReply(peer: peer, bytes: response.encoded(), isRefusal: true)) { return [log, .wakeSender] }
    counters.refused.unsent += 1
    return [log]
  }
}
