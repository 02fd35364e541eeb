internal import ErrorReporting
internal import FoundationEssentials

/// A sender of stored sessions to a control server: the oldest first, each exactly once, none held up by another one.
///
/// A session is marked before it is sent and removed when the server has it. If the program is killed in between, the
/// repeat is answered that no such test is open, which counts as delivered.
public struct CoverageSender: Sendable {
  /// The report of an attempt to send a session.
  public struct Report: Sendable, Hashable {
    /// The number of the session in its store.
    public var id: Int64
    /// The number of its fences.
    public var fences: Int
    /// The outcome of the attempt.
    public var outcome: Outcome
  }

  /// The outcome of an attempt to send a session.
  public enum Outcome: Sendable, Hashable {
    /// The server has the session, which is removed from the store.
    case delivered
    /// The session stays for a later attempt; with the reason.
    case waiting(String)
    /// The server refuses the session; with the reason. It is sent again a few times.
    case refused(String)
  }

  /// The result of a pass over the sessions.
  public struct Summary: Sendable, Hashable {
    /// The sessions that were sent, or could not be.
    public var reports: [Report] = []
    /// The number of sessions that were removed because they are older than 7 days.
    public var outdated = 0
  }

  private let store: CoverageStore
  private let server: String
  private let transport: any CoverageTransport
  private let destination: (any CoverageDestination)?
  private let random: @Sendable () -> Double

  /// Creates a sender for the sessions of one server.
  /// - Parameters:
  ///   - store: The stored sessions.
  ///   - server: The address of the server, as the sessions have it.
  ///   - transport: The connection to the server.
  ///   - destination: A place that gets each session before the server does; `nil` for none.
  ///   - random: A generator of numbers of 0 to 1, for the jitter of delays.
  public init(
    store: CoverageStore, server: String, transport: any CoverageTransport,
    destination: (any CoverageDestination)? = nil,
    random: @escaping @Sendable () -> Double = { .random(in: 0...1) }
  ) {
    self.store = store
    self.server = server
    self.transport = transport
    self.destination = destination
    self.random = random
  }

  /// Sends the finished sessions that are due.
  ///
  /// If no program measures with the store, what killed ones have left is finished first.
  /// - Throws: ``CoverageError`` with code `.busy` if another program sends, `.storage` or `.noSpace`;
  ///   `CancellationError`. A session that was under way is then sent again later.
  public func send() async throws -> Summary {
    try finishAbandoned()
    return try await sendFinished()
  }

  /// Ends the sessions that killed programs have left, unless a program measures.
  package func finishAbandoned() throws {
    guard let run = try store.lockForRun() else { return }
    defer { run.release() }
    try store.recover(except: nil)
  }

  /// Sends the finished sessions that are due, after ``finishAbandoned()`` or a run has ended what earlier ones have left.
  package func sendFinished() async throws -> Summary {
    guard let lock = try store.lockForSending() else {
      throw CoverageError(.busy, "another program sends the sessions in \(store.path)")
    }
    defer { lock.release() }
    var summary = Summary(outdated: try store.removeOutdated())
    var last: CoverageSession?
    while true {
      let sessions = try store.finished(at: server, after: last)
      guard let newest = sessions.last else { return summary }
      last = newest
      for session in sessions where ResendRules.isDue(session, nowUs: store.nowUs) {
        try Task.checkCancellation()
        let (report, isReachable) = try await send(session)
        if let report { summary.reports.append(report) }
        // Nothing of the others is known: they are due at once when the server is there again.
        if !isReachable { return summary }
      }
    }
  }

  private func send(_ session: CoverageSession) async throws -> (report: Report?, isReachable: Bool) {
    if session.uuid == nil, let failure = try await anchor(session) {
      return (Report(id: session.id, fences: session.fences, outcome: .waiting(failure.message)), failure.isReachable)
    }
    if let failure = try await handOver(session.id) {
      return (Report(id: session.id, fences: session.fences, outcome: .waiting(failure)), true)
    }
    guard let outgoing = try store.beginSending(session.id), let uuid = outgoing.session.uuid else {
      return (nil, true)
    }
    let anchorUs = outgoing.session.anchorUs ?? outgoing.session.startedUs
    let document = FenceDocument(uuid: uuid, anchorUs: anchorUs, fences: outgoing.fences)
    let attempt = try await attempt(try document.data, wasUnconfirmed: outgoing.wasUnconfirmed)
    let outcome = try finish(outgoing, attempt.verdict)
    return (Report(id: session.id, fences: outgoing.fences.count, outcome: outcome), attempt.isReachable)
  }

  /// Passes a session to the destination, before anything is sent that would let it be removed.
  /// - Returns: Why it did not take the session; `nil` if it did, or there is none.
  private func handOver(_ id: Int64) async throws -> String? {
    guard let destination else { return nil }
    let session = try store.session(id)
    let fences = try store.fences(of: id)
    do {
      try await destination.take(session, fences)
      return nil
    } catch let error as CancellationError {
      throw error
    } catch {
      let reason = (error as? any ReportableError)?.message ?? error.safeText
      try postpone(session, .retry(reason, isUnconfirmed: session.sending.isUnconfirmed))
      return reason
    }
  }

  private func attempt(
    _ body: Data, wasUnconfirmed: Bool
  ) async throws -> (verdict: ResendRules.Verdict, isReachable: Bool) {
    do {
      let reply = try await transport.post(.result, members: body)
      return (ResendRules.verdict(reply, wasUnconfirmed: wasUnconfirmed), true)
    } catch let error as CoverageError {
      return (ResendRules.verdict(error, wasUnconfirmed: wasUnconfirmed), error.code != .unreachable)
    }
  }

  private func finish(_ outgoing: CoverageStore.Outgoing, _ verdict: ResendRules.Verdict) throws -> Outcome {
    let id = outgoing.session.id
    switch verdict {
    case .delivered:
      try store.remove(delivered: id)
      return .delivered
    case .retry(let reason, _):
      try postpone(outgoing.session, verdict)
      return .waiting(reason)
    case .refused(let reason):
      try postpone(outgoing.session, verdict)
      return .refused(reason)
    }
  }

  private func postpone(_ session: CoverageSession, _ verdict: ResendRules.Verdict) throws {
    try store.postpone(
      session.id, ResendRules.next(after: verdict, session.sending, nowUs: store.nowUs, random: random()))
  }

  /// Has a session granted for one that was measured without a connection.
  /// - Returns: Why it has none; `nil` if it has one now.
  private func anchor(_ session: CoverageSession) async throws -> (message: String, isReachable: Bool)? {
    do {
      let grant = try await transport.requestSession(loop: nil, unixMs: store.nowUs / 1000)
      try store.anchor(session.id, uuid: grant.session)
      return nil
    } catch let error as CoverageError where ![.storage, .noSpace].contains(error.code) {
      // Nothing was sent that the server could have.
      try postpone(session, .retry(error.message, isUnconfirmed: false))
      return (error.message, error.code != .unreachable)
    }
  }
}
