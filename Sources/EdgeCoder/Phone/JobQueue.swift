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

/// The job queue of a phone: as many jobs at a time as the engine bears, fair between centrals, with a limit on those that
/// wait.
///
/// The next job is the first one of the central whose last start is the longest ago.
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
    /// The running jobs, which must be cancelled.
    var running: [PhoneJob] = []

    var count: Int { waiting + running.count }
  }

  let limit: Int
  let limitPerPeer: Int
  /// The number of jobs that run at a time, 1 or more.
  var slots = 1
  private(set) var running: [PhoneJob] = []
  private(set) var waiting: [PhoneJob] = []
  private var nextNumber = 1
  /// The number of the last start of each central that has a job.
  private var turns: [PeerID: Int] = [:]
  private var starts = 0

  init(limit: Int, limitPerPeer: Int = .max) {
    self.limit = max(0, limit)
    self.limitPerPeer = max(1, limitPerPeer)
  }

  mutating func submit(_ request: Wire.Request, from peer: PeerID, stream: MuxStream? = nil) -> Admission {
    if contains(request.id, of: peer, stream) { return .duplicate }
    // An idle queue always accepts one request.
    guard waiting.count < limit || (running.isEmpty && waiting.isEmpty) else { return .full }
    let own = (waiting + running).count { $0.peer == peer }
    guard own < limitPerPeer else { return .fullForPeer }
    waiting.append(PhoneJob(number: nextNumber, peer: peer, request: request, stream: stream))
    nextNumber += 1
    return .accepted
  }

  /// Starts and returns the next job; `nil` while all slots are used or when none may start.
  /// - Parameter mayStart: Returns `true` for a job that may start now.
  mutating func start(_ mayStart: (PhoneJob) -> Bool = { _ in true }) -> PhoneJob? {
    guard running.count < max(1, slots), let index = next(of: waiting, turns, mayStart) else { return nil }
    let job = waiting.remove(at: index)
    starts += 1
    turns[job.peer] = starts
    running.append(job)
    return job
  }

  /// The waiting jobs in the order in which they will start.
  var order: [PhoneJob] {
    var (rest, turns, starts) = (waiting, turns, starts)
    var order: [PhoneJob] = []
    while let index = next(of: rest, turns, { _ in true }) {
      let job = rest.remove(at: index)
      starts += 1
      turns[job.peer] = starts
      order.append(job)
    }
    return order
  }

  private func next(of jobs: [PhoneJob], _ turns: [PeerID: Int], _ mayStart: (PhoneJob) -> Bool) -> Int? {
    jobs.indices.filter { mayStart(jobs[$0]) }.min { (turns[jobs[$0].peer] ?? 0, $0) < (turns[jobs[$1].peer] ?? 0, $1) }
  }

  /// Finishes a running job.
  /// - Returns: The job, or `nil` if it is not running.
  mutating func finish(_ number: Int) -> PhoneJob? {
    guard let index = running.firstIndex(where: { $0.number == number }) else { return nil }
    defer { forgetTurns() }
    return running.remove(at: index)
  }

  /// Removes the jobs of one peer; with `nil`, all jobs.
  mutating func cancel(_ peer: PeerID?) -> Cancelled {
    cancel { peer == nil || $0.peer == peer }
  }

  /// Removes the jobs that match a condition.
  mutating func cancel(_ matches: (PhoneJob) -> Bool) -> Cancelled {
    let before = waiting.count
    waiting.removeAll(where: matches)
    let cancelled = Cancelled(waiting: before - waiting.count, running: running.filter(matches))
    running.removeAll(where: matches)
    forgetTurns()
    return cancelled
  }

  /// Forgets the turns when nothing waits: the order of an empty queue is nobody's advantage.
  private mutating func forgetTurns() {
    if waiting.isEmpty { turns = [:] }
  }

  private func contains(_ id: String, of peer: PeerID, _ stream: MuxStream?) -> Bool {
    (running + waiting).contains { $0.peer == peer && $0.stream == stream && $0.request.id == id }
  }
}
