import Agent
import Timing
import Uploads

/// How a queue of uploads is at one moment, for those who watch over it: Prometheus, and who asks the agent.
struct UploadReport: Sendable {
  var status: UploadQueue.Status
  var totals = QueueStore.Totals()
  var isPaused = false
  var atMs = WallClock.unixMilliseconds()

  init(_ status: UploadQueue.Status) { self.status = status }

  /// Asks a queue.
  init(of queue: UploadQueue) async {
    self.init(await queue.status)
    do {
      totals = try queue.store.totals()
      isPaused = try queue.store.isPaused
    } catch {
      status.problem = error.description
    }
  }

  /// What can be followed over time. The counters begin anew with each start of the program.
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
        "edgeblue_uploads_oldest_age_seconds", .gauge, "How long the oldest item that is not uploaded has been queued.",
        totals.oldestQueuedAtMs.map { [Metric.Sample(Double(max(atMs - $0, 0)) / 1000)] } ?? []),
      Metric("edgeblue_uploads_paused", .gauge, "Whether a person holds all of the queue.", isPaused ? 1 : 0),
      Metric(
        "edgeblue_uploads_attempts_total", .counter, "Attempts, those that failed among them.", counters.attempts),
      Metric(
        "edgeblue_uploads_failures_total", .counter, "Attempts that failed, by kind.",
        FailureKind.allCases.map { .init(Double(counters.failures[$0] ?? 0), ["kind": $0.rawValue]) }),
      Metric("edgeblue_uploads_completed_total", .counter, "Items that were uploaded.", counters.uploaded),
      Metric(
        "edgeblue_uploads_completed_bytes_total", .counter, "Bytes of the items that were uploaded.",
        Int(counters.uploadedBytes)),
      Metric(
        "edgeblue_uploads_sent_bytes_total", .counter, "Bytes that were handed to connections.",
        Int(counters.sentBytes)),
      Metric(
        "edgeblue_uploads_success_ratio", .gauge,
        "The share of the attempts that have ended since the start which have ended well, 0 to 1.",
        counters.successRatio.map { [Metric.Sample($0)] } ?? []),
      Metric(
        "edgeblue_uploads_accounts_without_credentials", .gauge,
        "Accounts that have items and no credentials that the server takes.", status.credentialProblems.count),
      Metric(
        "edgeblue_uploads_problem", .gauge, "Whether something keeps the queue itself from working.",
        status.problem == nil ? 0 : 1),
    ]
  }

  /// What the agent says of it.
  var agentStatus: UploadsStatus {
    let counters = status.counters
    let left: [UploadItem.State] = [.waiting, .uploading, .paused]
    return UploadsStatus(
      items: Dictionary(uniqueKeysWithValues: totals.items.map { ($0.key.rawValue, $0.value) }),
      bytesLeft: left.reduce(0) { $0 + (totals.bytes[$1] ?? 0) }, oldestAtMs: totals.oldestQueuedAtMs,
      isPaused: isPaused,
      counters: [
        "attempts": counters.attempts, "uploaded": counters.uploaded, "uploadedBytes": Int(counters.uploadedBytes),
        "sentBytes": Int(counters.sentBytes),
      ],
      failures: Dictionary(uniqueKeysWithValues: counters.failures.map { ($0.key.rawValue, $0.value) }),
      problem: problem)
  }

  private var problem: String? {
    if let problem = status.problem { return problem }
    if status.isUploadedElsewhere { return "another program uploads this queue" }
    let account = status.credentialProblems.min { $0.key < $1.key }
    return account.map { "the account \($0.key) has no credentials: \($0.value)" }
  }
}
