/// One request a phone has accepted.
public struct PhoneJob: Sendable, Hashable {
  /// Numbers the phone's jobs; unique while it runs.
  public var number: Int
  /// Who asked.
  public var peer: PeerID
  /// The request.
  public var request: Wire.Request
  /// Where the reply goes; `nil` for the response characteristic.
  var ticket: LinkTicket?
}

/// A request on one of a phone's v2 links.
struct LinkTicket: Sendable, Hashable {
  /// Numbers the phone's links; unique while it runs.
  var link: Int
  /// The request's stream on that link.
  var stream: UInt32
}

/// The phone's requests: first in, first out, one at a time, at most so many waiting.
///
/// A value type: it decides, and does nothing itself.
struct JobQueue: Sendable {
  enum Admission: Equatable {
    case accepted
    /// The same central waits for a reply with this id already.
    case duplicate
    case full
    /// The central has its share of the queue.
    case fullForPeer
  }

  let limit: Int
  let limitPerPeer: Int
  private(set) var running: PhoneJob?
  private(set) var waiting: [PhoneJob] = []
  private var nextNumber = 1

  init(limit: Int, limitPerPeer: Int = .max) {
    self.limit = max(0, limit)
    self.limitPerPeer = max(1, limitPerPeer)
  }

  mutating func submit(_ request: Wire.Request, from peer: PeerID, ticket: LinkTicket? = nil) -> Admission {
    if contains(request.id, of: peer, ticket) { return .duplicate }
    // With nothing running and nobody waiting there is always room for one.
    guard waiting.count < limit || (running == nil && waiting.isEmpty) else { return .full }
    guard waiting.count(where: { $0.peer == peer }) + (running?.peer == peer ? 1 : 0) < limitPerPeer else {
      return .fullForPeer
    }
    waiting.append(PhoneJob(number: nextNumber, peer: peer, request: request, ticket: ticket))
    nextNumber += 1
    return .accepted
  }

  /// The next job, which becomes the running one; `nil` while one runs or when none waits.
  mutating func start() -> PhoneJob? {
    guard running == nil, !waiting.isEmpty else { return nil }
    running = waiting.removeFirst()
    return running
  }

  /// The running job is done.
  /// - Returns: the job, or `nil` when it is not the running one (any more).
  mutating func finish(_ number: Int) -> PhoneJob? {
    guard let job = running, job.number == number else { return nil }
    running = nil
    return job
  }

  /// Removes the jobs of one peer, or of all.
  /// - Returns: how many waited, and the running one if it is to be cancelled.
  mutating func cancel(_ peer: PeerID?) -> (waiting: Int, running: PhoneJob?) {
    cancel { peer == nil || $0.peer == peer }
  }

  /// Removes the jobs that are meant.
  /// - Returns: how many waited, and the running one if it is to be cancelled.
  mutating func cancel(_ isMeant: (PhoneJob) -> Bool) -> (waiting: Int, running: PhoneJob?) {
    let before = waiting.count
    waiting.removeAll(where: isMeant)
    guard let job = running, isMeant(job) else { return (before - waiting.count, nil) }
    running = nil
    return (before - waiting.count, job)
  }

  private func contains(_ id: String, of peer: PeerID, _ ticket: LinkTicket?) -> Bool {
    let isIt = { (job: PhoneJob) in job.peer == peer && job.ticket == ticket && job.request.id == id }
    return running.map(isIt) ?? false || waiting.contains(where: isIt)
  }
}
