/// The result of one job.
struct JobOutcome: Sendable, Equatable {
  enum Result: Sendable, Equatable {
    /// A text, truncated at the reply limit or not, and its end.
    case text(String, isTruncated: Bool = false, Completion = Completion(.stop))
    /// A refusal that is not a fault of the engine.
    case refusal(Answer.Refusal)
    /// A failure of the engine, with the reason.
    case engineFailure(String)
  }

  var result: Result
  var durationMs: Int

  init(_ result: Result, durationMs: Int) {
    self.result = result
    self.durationMs = durationMs
  }

  var answer: Answer {
    switch result {
    case .text(let text, _, _): .text(text)
    case .refusal(let refusal): .refusal(refusal)
    case .engineFailure(let reason): .refusal(Answer.Refusal(.failed, reason))
    }
  }

  var isTruncated: Bool { if case .text(_, isTruncated: true, _) = result { true } else { false } }

  /// The end of the text; `nil` for a refusal and a failure.
  var completion: Completion? { if case .text(_, _, let completion) = result { completion } else { nil } }

  /// The answer in a JSON message, which has no other place for the end of a text than the text.
  var notedAnswer: Answer {
    guard isTruncated, case .text(let text) = answer else { return answer }
    return .text(text + OutputAccumulator.truncationNote)
  }

  var engineFailed: Bool { if case .engineFailure = result { true } else { false } }
}

/// The state machine of the phone role: its centrals, their requests and their replies.
///
/// Events go in through ``handle(_:at:)``. The loops of ``PhoneService`` pull the work: jobs with ``startJob()``, chunks
/// with ``nextSend(at:)``.
struct PhoneMachine: Sendable {
  enum Action: Equatable {
    /// Look for a job to start.
    case wakeRunner
    /// Look for a reply to send.
    case wakeSender
    /// Cancel a running job.
    case cancelJob(Int)
    /// Send the status to a new subscriber.
    case pushStatus
    /// Set the values for reads again, because the service was registered again.
    case restoreValues
    /// Set the value that a read of the response characteristic by one central returns.
    case setResponse([UInt8], of: PeerID)
    /// Finish a reply over a v2 mux.
    case finishReply(MuxStream, JobOutcome)
    /// Log that a request was refused.
    case logRefusal(PeerID, RefusalCause)
    /// Deliver an event to the subscribers.
    case report(PhoneEvent)
  }

  /// The cause of a refusal for the log, without any content of the request.
  enum RefusalCause: String {
    case malformed
    case tooLarge = "too large"
    case queueFull = "queue full"
    case queueFullForPeer = "share of the queue used up"
    case tooManyRequests = "too many requests"
    case tooManyBytes = "too many bytes"
  }

  let configuration: PhoneConfiguration
  let addressesSinglePeer: Bool
  private(set) var isUp = false
  var counters = PhoneCounters()
  private(set) var peers: PeerTable
  /// The centrals that may read the beginning of their last reply, with the instants at which it is forgotten.
  private var readable: [PeerID: Duration] = [:]
  var queue: JobQueue
  var outbox: ReplyOutbox
  var rates: PeerRates
  /// The number of chunks sent before the present reply.
  private var chunksReported = 0

  /// The time for which a central may read the beginning of its last reply. With the interval at which the phone looks,
  /// it is forgotten within a minute.
  static let readableTime = Duration.seconds(55)
  /// The time that a central needs to connect, to pair and to subscribe.
  static let subscribingTime = Duration.seconds(15)

  init(configuration: PhoneConfiguration, addressesSinglePeer: Bool) {
    self.configuration = configuration
    self.addressesSinglePeer = addressesSinglePeer
    peers = PeerTable(limit: configuration.peerLimit) {
      JSONObjectScanner(sizeLimit: configuration.requestLimit, idleLimit: configuration.idleLimit)
    }
    queue = JobQueue(limit: configuration.queue.limit, limitPerPeer: configuration.queue.limitPerCentral)
    outbox = ReplyOutbox(
      refusalLimit: configuration.refusals.limit, refusalsPerPeer: configuration.refusals.limitPerCentral,
      interval: configuration.chunkInterval)
    rates = PeerRates(configuration)
  }

  // MARK: Radio

  mutating func handle(_ event: PhoneTransportEvent, at now: Duration) -> [Action] {
    let centrals = peers.peers.count
    let actions = react(to: event, at: now)
    return peers.peers.count == centrals ? actions : actions + [.report(.centrals(peers.peers.count))]
  }

  private mutating func react(to event: PhoneTransportEvent, at now: Duration) -> [Action] {
    switch event {
    case .transportUp:
      defer { isUp = true }
      // No central has subscribed yet; the first that does receives the status.
      return [.restoreValues] + (isUp ? [] : [.report(.up)])
    case .transportDown(let reason):
      let report: [Action] = isUp ? [.report(.down(reason))] : []
      isUp = false
      peers.removeAll()
      return leave(nil) + report
    case .connected(let peer):
      // The first write may have arrived before this event, so nothing is discarded.
      _ = peers.update(peer) { $0.connectedAt = now }
      return []
    case .disconnected(let peer):
      _ = peers.remove(peer)
      return leave(peer)
    case .mtu(let peer, let mtu):
      _ = peers.update(peer) { $0.mtu = mtu }
      return []
    case .subscribed(let peer, let characteristic, let mtu):
      peers.subscribe(peer, characteristic, mtu: mtu)
      return characteristic == .status ? [.pushStatus] : []
    case .unsubscribed(let peer, let characteristic):
      peers.unsubscribe(peer, characteristic)
      return []
    case .accessRefused(_, let reason):
      counters.refused.accesses += 1
      return [.report(.accessRefused(reason))]
    case .writeRefused: return refuseWrite()
    case .write(let write): return receive(write, at: now)
    }
  }

  private mutating func leave(_ peer: PeerID?) -> [Action] {
    let forgotten = peer.map { readable.removeValue(forKey: $0) == nil ? [] : [$0] } ?? Array(readable.keys)
    if peer == nil { readable = [:] }
    let cancelled = queue.cancel(peer)
    // A broadcast reaches the other centrals, too, and half an object would corrupt the next reply for them.
    let othersListen = isUp && !addressesSinglePeer && peers.isSubscribed(to: .response)
    let failed = outbox.drop(peer, finishing: othersListen)
    counters.repliesFailed += failed
    return forgotten.map { .setResponse([], of: $0) } + cancel(cancelled) + (failed > 0 ? [.report(.replyFailed)] : [])
  }

  /// Counts cancelled jobs and cancels the one that runs.
  mutating func cancel(_ cancelled: JobQueue.Cancelled) -> [Action] {
    counters.cancelled += cancelled.count
    let report: [Action] = cancelled.count > 0 ? [.report(.cancelled(cancelled.count))] : []
    return cancelled.running.map { .cancelJob($0.number) } + [.wakeRunner] + report
  }

  private mutating func receive(_ write: PhoneWrite, at now: Duration) -> [Action] {
    rates.charge(write.peer, bytes: write.bytes.count, at: now)
    let events = peers.update(write.peer) { peer -> [JSONObjectScanner.Event]? in
      if let mtu = write.mtu { peer.mtu = mtu }
      guard case .bytes(let bytes) = peer.assembler.receive(write.bytes, offset: write.offset) else { return nil }
      return peer.scanner.receive(bytes, at: now)
    }
    guard let events = events ?? nil else { return refuseWrite() }
    return events.flatMap { event in
      switch event {
      case .object(let bytes): accept(bytes, from: write.peer, at: now)
      case .refused(let refusal): discard(refusal, from: write.peer, at: now)
      }
    }
  }

  private mutating func refuseWrite() -> [Action] {
    counters.refused.writes += 1
    return [.report(.writeRefused)]
  }

  /// Discards incomplete requests that did not grow for the idle limit, so that their memory is released, and replies
  /// that were readable for long enough.
  mutating func expire(at now: Duration) -> [Action] {
    for refusal in peers.expire(at: now) { counters.discardedBytes += refusal.bytes }
    let old = readable.filter { $0.value <= now }.keys
    for peer in old { readable[peer] = nil }
    // A second subscriber is not reported where all share one socket: one that has just connected may be one.
    let mayBeNew = !addressesSinglePeer && peers.hasConnected(since: now - Self.subscribingTime)
    return old.map { .setResponse([], of: $0) } + (mayBeNew ? [.pushStatus] : [])
  }

  // MARK: Jobs

  /// Returns the next job to run; `nil` while the engine bears no more, when none waits, and while finished replies wait
  /// to be sent.
  mutating func startJob() -> PhoneJob? {
    // One reply in flight and one more: an engine faster than the radio must not fill the memory. Over a v2 mux the
    // central's credit does that.
    let replies = outbox.answers + queue.running.count { $0.stream == nil }
    return queue.start { $0.stream != nil || replies < 2 }
  }

  /// Finishes a job. The result is dropped if its central has disconnected.
  mutating func finish(_ number: Int, _ outcome: JobOutcome) -> [Action] {
    guard let job = queue.finish(number) else { return [.wakeRunner] }
    if outcome.isTruncated { counters.truncated += 1 }
    var reports: [Action] = []
    if outcome.engineFailed {
      counters.engineFailures += 1
      reports = [.report(.engineFailed)]
    }
    if let stream = job.stream { return finish(stream, outcome) + reports }
    let response = Wire.Response(id: job.request.id, answer: outcome.notedAnswer, durationMs: outcome.durationMs)
    _ = outbox.add(PhoneReply(peer: job.peer, bytes: response.encoded(), isRefusal: false))
    return [.wakeSender, .wakeRunner] + reports
  }

  // MARK: Sending

  /// Returns the next action of the sender.
  mutating func nextSend(at now: Duration) -> ReplyOutbox.Action {
    let peers = peers
    let addressesSinglePeer = addressesSinglePeer
    return outbox.next(at: now) { Chunker.notificationSize(mtu: peers.mtu(for: addressesSinglePeer ? $0 : nil)) }
  }

  /// Records that the chunk was sent.
  mutating func didSend(at now: Duration) -> [Action] {
    counters.chunks += 1
    guard let reply = outbox.didSend(at: now) else { return [] }
    return setReadable(reply, at: now) + count(replyOf: reply.bytes.count) + [.wakeRunner]
  }

  /// Lets a central, and no other, read the beginning of its reply.
  ///
  /// Where bluetoothd cannot tell the subscribers apart, a reply is readable by none: it would be one more way to another
  /// central's text.
  private mutating func setReadable(_ reply: PhoneReply, at now: Duration) -> [Action] {
    guard addressesSinglePeer, peers.peers[reply.peer] != nil else { return [] }
    readable[reply.peer] = now + Self.readableTime
    return [.setResponse(Array(reply.bytes.prefix(WriteAssembler.valueLimit)), of: reply.peer)]
  }

  /// Counts a reply that was sent in full.
  mutating func count(replyOf bytes: Int) -> [Action] {
    counters.replies += 1
    counters.replyBytes += bytes
    let chunks = counters.chunks - chunksReported
    chunksReported = counters.chunks
    return [.report(.replySent(number: counters.replies, bytes: bytes, chunks: chunks))]
  }

  /// Records that the chunk could not be sent.
  mutating func didFailToSend() -> [Action] {
    counters.repliesFailed += 1
    outbox.didFail()
    return [.report(.replyFailed)]
  }

  mutating func didPushStatus() { counters.statusPushes += 1 }

  /// The MTU that limits a notification to a peer; `nil` stands for all subscribers.
  func mtu(for peer: PeerID?) -> Int? { peers.mtu(for: addressesSinglePeer ? peer : nil) }

  /// The receiver to name in a notification for a peer; `nil` stands for all subscribers.
  func receiver(_ peer: PeerID) -> PeerID? { addressesSinglePeer ? peer : nil }

  /// The receivers of the status: the subscribed peers, or all at once as `nil`.
  var statusReceivers: [PeerID?] {
    guard isUp, peers.isSubscribed(to: .status) else { return [] }
    guard addressesSinglePeer else { return [nil] }
    return peers.peers.filter { $0.value.subscriptions.contains(.status) }.map { $0.key }
  }
}
