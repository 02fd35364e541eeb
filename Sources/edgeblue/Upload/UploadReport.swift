import Agent
import Timing
import Uploads

/// A snapshot of an upload queue, for Prometheus and the status of the agent.
struct UploadReport: Sendable {
  var status: UploadQueue.Status
  var totals = QueueStore.Totals()
  var isPaused = false
  /// The URLs of the servers that items wait for and this queue does not upload to.
  var otherServers: [String] = []
  var atMs = WallClock.unixMilliseconds()

  init(_ status: UploadQueue.Status) { self.status = status }

  /// Takes a snapshot of a queue.
  init(of queue: UploadQueue) async {
    self.init(await queue.status)
    do {
      totals = try queue.store.totals()
      isPaused = try queue.store.isPaused
      otherServers = try queue.store.serversInUse().filter { $0 != queue.endpoint.url }
    } catch {
      status.problem = error.description
    }
  }

  /// The metrics of the queue. Counters restart from zero with each start of the program.
  var metrics: [Metric] {
    let counters = status.counters
    func byState(_ value: (UploadItem.State) -> Double) -> [Metric.Sample] {
      UploadItem.State.allCases.map { .init(value($0), ["state": $0.rawValue]) }
    }
    return [
      Metric(
        "edgeblue_uploads_items", .gauge, "Items of the queue, by state.",
        byState { Double(totals.items[$0] ?? 0) }),
      Metric(
        "edgeblue_uploads_bytes", .gauge, "Bytes of the items of the queue, by state.",
        byState { Double(totals.bytes[$0] ?? 0) }),
      Metric(
        "edgeblue_uploads_oldest_age_seconds", .gauge, "Age of the oldest item that is not uploaded.",
        totals.oldestQueuedAtMs.map { Double(max(atMs - $0, 0)) / 1000 }),
      Metric("edgeblue_uploads_paused", .gauge, "Whether the user has paused the whole queue.", isPaused ? 1 : 0),
      Metric(
        "edgeblue_uploads_attempts_total", .counter, "Attempts, including failed ones.", counters.attempts),
      Metric(
        "edgeblue_uploads_failures_total", .counter, "Attempts that failed, by kind.",
        FailureKind.allCases.map { .init(Double(counters.failures[$0] ?? 0), ["kind": $0.rawValue]) }),
      Metric("edgeblue_uploads_completed_total", .counter, "Items that were uploaded.", counters.uploaded),
      Metric(
        "edgeblue_uploads_completed_bytes_total", .counter, "Bytes of the items that were uploaded.",
        Int(counters.uploadedBytes)),
      Metric(
        "edgeblue_uploads_sent_bytes_total", .counter, "Bytes that were sent.",
        Int(counters.sentBytes)),
      Metric(
        "edgeblue_uploads_success_ratio", .gauge,
        "Share of attempts since the start that succeeded, 0 to 1.",
        counters.successRatio),
      Metric(
        "edgeblue_uploads_accounts_without_credentials", .gauge,
        "Accounts with items, but without valid credentials.", status.credentialProblems.count),
      Metric(
        "edgeblue_uploads_problem", .gauge, "Whether an error stops the queue itself.",
        status.problem == nil ? 0 : 1),
    ]
  }

  /// The status of the queue as the agent reports it.
  var agentStatus: UploadsStatus {
    let counters = status.counters
    let left: [UploadItem.State] = [.waiting, .uploading, .paused]
    var result = UploadsStatus(
      items: Dictionary(uniqueKeysWithValues: totals.items.map { ($0.key.rawValue, $0.value) }),
      bytesLeft: left.reduce(0) { $0 + (totals.bytes[$1] ?? 0) }, oldestAtMs: totals.oldestQueuedAtMs,
      isPaused: isPaused,
      counters: [
        "attempts": counters.attempts, "uploaded": counters.uploaded, "uploadedBytes": Int(counters.uploadedBytes),
        "sentBytes": Int(counters.sentBytes),
      ],
      failures: Dictionary(uniqueKeysWithValues: counters.failures.map { ($0.key.rawValue, $0.value) }))
    result.problem = problem
    return result
  }

  private var problem: String? {
    if let problem = status.problem { return problem }
    if status.isUploadedElsewhere { return "another program uploads this queue" }
    if let account = status.credentialProblems.min(by: { $0.key < $1.key }) {
      return "account \(account.key): \(account.value)"
    }
    guard !otherServers.isEmpty else { return nil }
    return "items wait for \(otherServers.joined(separator: ", ")), which this program does not upload to"
  }
}
