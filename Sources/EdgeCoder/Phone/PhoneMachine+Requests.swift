extension PhoneMachine {
  mutating func accept(_ bytes: [UInt8], from peer: PeerID, at now: Duration) -> [Action] {
    let shortage = rates.admit(peer, at: now)
    let request: Wire.Request
    do {
      request = try Wire.Request.decode(bytes)
    } catch {
      counters.malformed += 1
      guard shortage == nil else { return refuse(nil, of: peer, .malformed) }
      return refuse(error.id, of: peer, .malformed, "malformed request: \(error.reason)")
    }
    switch admit(request, bytes: bytes.count, from: peer, shortage) {
    case .accepted: return [.wakeRunner]
    case .duplicate: return []
    case .refused(let kind, let reason): return refuse(request.id, of: peer, kind, reason)
    }
  }

  enum Admission {
    case accepted
    /// The same central waits for this reply already.
    case duplicate
    case refused(Refusal, String)
  }

  /// Puts a request into the queue, if its central may ask now and there is room.
  mutating func admit(
    _ request: Wire.Request, bytes: Int, from peer: PeerID, _ shortage: PeerRates.Shortage?,
    ticket: LinkTicket? = nil
  ) -> Admission {
    counters.requests += 1
    counters.requestBytes += bytes
    var request = request
    request.maxTokens = min(max(1, request.maxTokens ?? Wire.defaultMaxTokens), configuration.maxTokensLimit)
    if let shortage { return limit(shortage) }
    switch queue.submit(request, from: peer, ticket: ticket) {
    case .accepted: return .accepted
    case .duplicate:
      counters.duplicates += 1
      return .duplicate
    case .full:
      counters.busy += 1
      return .refused(.queueFull, "busy: \(queue.waiting.count) requests are waiting")
    case .fullForPeer:
      counters.busy += 1
      counters.limited += 1
      return .refused(.queueFullForPeer, "busy: \(configuration.requestsPerPeer) requests of yours are waiting")
    }
  }

  private mutating func limit(_ shortage: PeerRates.Shortage) -> Admission {
    counters.busy += 1
    counters.limited += 1
    func busy(_ limit: String, _ wait: Duration) -> String {
      "busy: at most \(limit) a minute; try again in \(wait.components.seconds + 1) s"
    }
    switch shortage {
    case .requests(let wait):
      return .refused(.tooManyRequests, busy("\(configuration.requestsPerMinute) requests", wait))
    case .bytes(let wait): return .refused(.tooManyBytes, busy("\(configuration.bytesPerMinute) bytes", wait))
    }
  }

  mutating func discard(
    _ refusal: JSONObjectScanner.Refusal, from peer: PeerID, at now: Duration
  ) -> [Action] {
    let (kind, reason): (Refusal, String)
    switch refusal.reason {
    case .tooLarge: (kind, reason) = (.tooLarge, "request larger than \(configuration.requestLimit) bytes")
    case .malformed:
      (kind, reason) = (.malformed, "malformed request: it is no JSON from byte \(refusal.bytes) on")
    case .idle, .notAnObject:
      counters.discardedBytes += refusal.bytes
      return []
    }
    counters.malformed += 1
    guard rates.admit(peer, at: now) == nil else { return refuse(nil, of: peer, kind) }
    return refuse(Wire.recoverID(fromHead: refusal.head), of: peer, kind, reason)
  }

  /// Tells a central why its request is refused; without an id there is nobody to tell.
  private mutating func refuse(_ id: String?, of peer: PeerID, _ kind: Refusal, _ reason: String = "") -> [Action] {
    let note = Action.noteRefusal(peer, kind)
    guard let id else { return [note] }
    let response = Wire.Response(id: id, output: "[\(reason)]", ok: false, durationMs: 0)
    if outbox.add(PhoneReply(peer: peer, bytes: response.encoded(), isRefusal: true)) { return [note, .wakeSender] }
    counters.refusalsDropped += 1
    return [note]
  }
}
