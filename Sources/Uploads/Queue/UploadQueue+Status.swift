public import Logging

extension UploadQueue {
  /// The settings of an upload queue.
  public struct Options: Sendable {
    /// The number of items uploaded at a time; default: 3. Unused slots send further parts of large items.
    public var concurrency = 3
    /// The number and length of the requests that a file is sent in.
    public var plan = UploadPlan()
    /// The interval at which the queue looks for changes made by other processes; default: 500 ms.
    ///
    /// It watches its file, and looks so often only after a change, ten times, and else every 30 s. Where it cannot watch
    /// the file, it always looks at this interval.
    public var pollInterval = Duration.milliseconds(500)
    /// A Boolean value that indicates whether the queue waits while another process uploads it, and continues when that
    /// process stops, instead of throwing `.alreadyRunning`; default: `false`.
    ///
    /// Meanwhile the ``DiskPolicy`` learns about the items that the other process has uploaded.
    public var waitsForLock = false
    /// The interval at which a waiting queue tries to take the lock; default: 5 s.
    public var lockInterval = Duration.seconds(5)
    /// The source of jitter: returns a number from 0 to 1.
    public var random: @Sendable () -> Double = { .random(in: 0...1) }
    /// The logger for failures; it receives neither credentials nor contents.
    public var logger = Logger(label: "edgeblue.uploads")

    /// Creates settings with the default values.
    public init() {}
  }

  /// The numbers of attempts and bytes since the process started.
  public struct Counters: Sendable, Hashable {
    /// The number of items that were uploaded.
    public var uploaded = 0
    /// The number of bytes of the uploaded items.
    public var uploadedBytes: Int64 = 0
    /// The number of attempts, failed ones included.
    public var attempts = 0
    /// The number of failed attempts, by the kind of failure.
    public var failures: [FailureKind: Int] = [:]
    /// The number of bytes passed to connections, repeated ones included.
    public var sentBytes: Int64 = 0

    /// The share of the finished attempts that succeeded, 0 to 1; `nil` before the first has finished.
    public var successRatio: Double? {
      let finished = uploaded + failures.values.reduce(0, +)
      return finished == 0 ? nil : Double(uploaded) / Double(finished)
    }
  }

  /// A snapshot of what the queue is doing.
  public struct Status: Sendable, Hashable {
    /// The number of bytes sent of each item that is being uploaded, by item ID.
    public var running: [Int64: Int64] = [:]
    /// The numbers of attempts and bytes since the process started.
    public var counters = Counters()
    /// The reason for display why an account has no accepted credentials, by account.
    ///
    /// Accounts that have items but no credentials provider in this process are included.
    public var credentialProblems: [String: String] = [:]
    /// The problem that keeps the queue itself from working, such as a full disk.
    public var problem: String?
    /// A Boolean value that indicates whether another process uploads the queue, and this one waits.
    public var isUploadedElsewhere = false
    /// A Boolean value that indicates whether no upload starts, because the network is to be spared.
    public var isHeld = false
  }

  /// Returns whether nothing is left that this queue can do. Items of accounts without a provider wait for another program.
  package func isIdle() throws(UploadsError) -> Bool {
    let work = try store.work(at: client.endpoint.url)
    return !accounts.keys.contains { work.accounts[$0] != nil }
      && !work.abandoned.contains { accounts[$1] != nil && report.refusedAborts[$0] == nil }
  }

  /// A snapshot of what the queue is doing; progress is as recent as the last bytes passed to a connection.
  public var status: Status {
    var status = Status(
      counters: report.counters, problem: report.problem ?? report.manifestProblem,
      isUploadedElsewhere: report.isUploadedElsewhere, isHeld: machine.isHeld)
    let progress = progress.now
    status.counters.sentBytes = progress.sentBytes
    for id in machine.uploading { status.running[id] = progress.running[id] ?? 0 }
    for name in Set(accounts.keys).union(machine.waitingAccounts) where machine.lacksCredentials(name) {
      guard let account = accounts[name] else {
        status.credentialProblems[name] = "this program has no credentials for it"
        continue
      }
      status.credentialProblems[name] =
        account.problem
        ?? (account.generation == 0 ? "its credentials are being fetched" : "the server refuses its credentials")
    }
    return status
  }
}
