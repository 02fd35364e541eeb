/// A request that a phone has accepted.
public struct PhoneJob: Sendable, Hashable {
  /// The number of the job, unique while the phone runs.
  public var number: Int
  /// The central that sent the request.
  public var peer: PeerID
  /// The request of the central.
  public var request: Wire.Request
  /// The stream for the reply; `nil` for the response characteristic.
  var stream: MuxStream?
}

/// The identifier of a stream among all v2 muxes of a phone.
struct MuxStream: Sendable, Hashable {
  /// The number of the mux, unique while the phone runs.
  var mux: Int
  /// The number of the stream within the mux.
  var number: UInt32
}

/// The job queue of a phone: first in, first out, one job at a time, with a limit on those that wait.
struct JobQueue: Sendable {
  enum Admission: Equatable {
    case accepted
    /// The same central already waits for a reply with this identifier.
    case duplicate
    /// The queue has no free slot.
    case full
    /// The central has used its share of the queue.
    case fullForPeer
  }

  /// Jobs that were removed from the queue.
  struct Cancelled {
    var waiting: Int
    /// The running job, which must be cancelled; `nil` if it was not removed.
    var running: PhoneJob?

    var count: Int { waiting + (running == nil ? 0 : 1) }
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

  mutating func submit(_ request: Wire.Request, from peer: PeerID, stream: MuxStream? = nil) -> Admission {
    if contains(request.id, of: peer, stream) { return .duplicate }
    // An idle queue always accepts one request.
    guard waiting.count < limit || (running == nil && waiting.isEmpty) else { return .full }
    guard waiting.count(where: { $0.peer == peer }) + (running?.peer == peer ? 1 : 0) < limitPerPeer else {
      return .fullForPeer
    }
    waiting.append(PhoneJob(number: nextNumber, peer: peer, request: request, stream: stream))
    nextNumber += 1
    return .accepted
  }

  /// Starts and returns the next job; `nil` while one runs or when none waits.
  mutating func start() -> PhoneJob? {
    guard running == nil, !waiting.isEmpty else { return nil }
    running = waiting.removeFirst()
    return running
  }

  /// Finishes the running job.
  /// - Returns: The job, or `nil` if it is not the running one.
  mutating func finish(_ number: Int) -> PhoneJob? {
    guard let job = running, job.number == number else { return nil }
    running = nil
    return job
  }

  /// Removes the jobs of one peer; with `nil`, all jobs.
  mutating func cancel(_ peer: PeerID?) -> Cancelled {
    cancel { peer == nil || $0.peer == peer }
  }

  /// Removes the jobs that match a condition.
  mutating func cancel(_ matches: (PhoneJob) -> Bool) -> Cancelled {
    let before = waiting.count
    waiting.removeAll(where: matches)
    var cancelled = Cancelled(waiting: before - waiting.count)
    if let job = running, matches(job) {
      running = nil
      cancelled.running = job
    }
    return cancelled
  }

  private func contains(_ id: String, of peer: PeerID, _ stream: MuxStream?) -> Bool {
    let matches = { (job: PhoneJob) in job.peer == peer && job.stream == stream && job.request.id == id }
    return running.map(matches) ?? false || waiting.contains(where: matches)
  }
}
