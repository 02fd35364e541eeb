/// What came of one job.
struct JobOutcome: Sendable, Equatable {
  var output: String
  var status: LinkStatus
  var durationMs: Int
  /// Whether the output was cut at the limit.
  var isCut = false
  /// Whether the engine failed, as opposed to having no model or nothing to say.
  var engineFailed = false

  var ok: Bool { status == .ok }

  /// What came of a job that was not run.
  static func refusal(_ status: LinkStatus, _ reason: String) -> JobOutcome {
    JobOutcome(output: "[\(reason)]", status: status, durationMs: 0)
  }

  /// The output as the reason of a failure: the brackets are only for who expects a model's text.
  var reason: String {
    output.hasPrefix("[") && output.hasSuffix("]") ? String(output.dropFirst().dropLast()) : output
  }
}

/// The phone role's decisions: who is there, what they asked, what they are told.
///
/// A value type without clock or I/O. Events go in through ``handle(_:at:)``; the work it leads to is pulled out by
/// the loops of ``PhoneService``: jobs with ``startJob()``, chunks with ``nextStep(at:)``.
struct PhoneMachine: Sendable {
  enum Action: Equatable {
    /// A job may be there to start.
    case wakeRunner
    /// A reply may be there to send.
    case wakeSender
    /// The running job's central is gone.
    case cancelJob(Int)
    /// A central waits to hear the status.
    case pushStatus
    /// Put the read values back: the service was registered anew.
    case restoreValues
    /// A reply over a v2 link is complete.
    case endReply(LinkTicket, JobOutcome)
    /// A request was refused; to be logged.
    case noteRefusal(PeerID, Refusal)
  }

  /// Why a request was refused, without any of its content.
  enum Refusal: String {
    case malformed
    case tooLarge = "too large"
    case queueFull = "the queue is full"
    case queueFullForPeer = "its share of the queue is full"
    case tooManyRequests = "too many requests"
    case tooManyBytes = "too many bytes"
  }

  let configuration: PhoneConfiguration
  let addressesSinglePeer: Bool
  private(set) var isUp = false
  var counters = PhoneCounters()
  private(set) var peers: PeerTable
  var queue: JobQueue
  var outbox: ReplyOutbox
  var rates: PeerRates

  init(configuration: PhoneConfiguration, addressesSinglePeer: Bool) {
    self.configuration = configuration
    self.addressesSinglePeer = addressesSinglePeer
    peers = PeerTable(limit: configuration.peerLimit) {
      JSONObjectScanner(sizeLimit: configuration.requestLimit, idleLimit: configuration.idleLimit)
    }
    queue = JobQueue(limit: configuration.queueLimit, limitPerPeer: configuration.requestsPerPeer)
    outbox = ReplyOutbox(
      refusalLimit: configuration.refusalLimit, refusalsPerPeer: configuration.refusalsPerPeer,
      interval: configuration.chunkInterval)
    rates = PeerRates(configuration)
  }

  // MARK: Radio

  mutating func handle(_ event: PhoneEvent, at now: Duration) -> [Action] {
    switch event {
    case .transportUp:
      isUp = true
      return [.restoreValues, .pushStatus]
    case .transportDown:
      isUp = false
      peers.removeAll()
      return leave(nil)
    case .connected(let peer):
      // Its first write may have come before this news, so nothing is thrown away.
      _ = peers.update(peer) { _ in }
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
    case .refused:
      counters.accessRefused += 1
      return []
    case .write(let write):
      return receive(write, at: now)
    }
  }

  private mutating func leave(_ peer: PeerID?) -> [Action] {
    let cancelled = queue.cancel(peer)
    counters.cancelled += cancelled.waiting + (cancelled.running == nil ? 0 : 1)
    // Broadcast: the others hear the reply too, and half an object would spoil the next one for them.
    let othersListen = isUp && !addressesSinglePeer && peers.isSubscribed(to: .response)
    counters.repliesFailed += outbox.drop(peer, finishing: othersListen)
    return (cancelled.running.map { [.cancelJob($0.number)] } ?? []) + [.wakeRunner]
  }

  private mutating func receive(_ write: PhoneWrite, at now: Duration) -> [Action] {
    rates.charge(write.peer, bytes: write.bytes.count, at: now)
    let events = peers.update(write.peer) { peer -> [JSONObjectScanner.Event]? in
      if let mtu = write.mtu { peer.mtu = mtu }
      guard case .bytes(let bytes) = peer.assembler.receive(write.bytes, offset: write.offset) else { return nil }
      return peer.scanner.receive(bytes, at: now)
    }
    guard let events = events ?? nil else {
      counters.writesRefused += 1
      return []
    }
    return events.flatMap { event in
      switch event {
      case .object(let bytes): accept(bytes, from: write.peer, at: now)
      case .refused(let refusal): discard(refusal, from: write.peer, at: now)
      }
    }
  }

  /// Throws away what stood still for too long, so that its memory is free before its central writes again.
  mutating func expire(at now: Duration) {
    for refusal in peers.expire(at: now) { counters.discardedBytes += refusal.bytes }
  }

  // MARK: Jobs

  /// The next job to run; `nil` while one runs, none waits, or finished replies pile up.
  mutating func startJob() -> PhoneJob? {
    // One reply being sent and one more: an engine faster than the radio must not fill the memory.
    outbox.answers < 2 ? queue.start() : nil
  }

  /// A job is done. Nobody is told when its central has left meanwhile.
  mutating func finish(_ number: Int, _ outcome: JobOutcome) -> [Action] {
    guard let job = queue.finish(number) else { return [.wakeRunner] }
    if outcome.isCut { counters.cut += 1 }
    if outcome.engineFailed { counters.engineFailures += 1 }
    if let ticket = job.ticket { return finish(ticket, outcome) }
    let response = Wire.Response(
      id: job.request.id, output: outcome.output, ok: outcome.ok, durationMs: outcome.durationMs)
    _ = outbox.add(PhoneReply(peer: job.peer, bytes: response.encoded(), isRefusal: false))
    return [.wakeSender, .wakeRunner]
  }

  // MARK: Sending

  /// What the sender is to do now.
  mutating func nextStep(at now: Duration) -> ReplyOutbox.Step {
    let (peers, addressesSinglePeer) = (peers, addressesSinglePeer)
    return outbox.next(at: now) { Chunker.notificationSize(mtu: peers.mtu(for: addressesSinglePeer ? $0 : nil)) }
  }

  /// The chunk went out.
  /// - Returns: the reply, when that was its last chunk.
  mutating func didSend(at now: Duration) -> PhoneReply? {
    counters.chunks += 1
    guard let reply = outbox.didSend(at: now) else { return nil }
    counters.replies += 1
    counters.replyBytes += reply.bytes.count
    return reply
  }

  /// The chunk could not be sent.
  mutating func didFailToSend() {
    counters.repliesFailed += 1
    outbox.didFail()
  }

  mutating func didPushStatus() { counters.statusPushes += 1 }

  /// The MTU that limits a notification meant for a peer; `nil` stands for all subscribers.
  func mtu(for peer: PeerID?) -> Int? { peers.mtu(for: addressesSinglePeer ? peer : nil) }

  /// Whom to name as the receiver of a notification meant for a peer.
  func receiver(_ peer: PeerID) -> PeerID? { addressesSinglePeer ? peer : nil }

  /// Where a status push goes: the subscribed peers, or everybody at once as `nil`.
  var statusReceivers: [PeerID?] {
    guard isUp, peers.isSubscribed(to: .status) else { return [] }
    guard addressesSinglePeer else { return [nil] }
    return peers.peers.filter { $0.value.subscriptions.contains(.status) }.map { $0.key }
  }
}
