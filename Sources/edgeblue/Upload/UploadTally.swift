import Uploads

/// The items that a command has reported, by their ends, and the failure that follows from them.
struct UploadTally {
  /// The end of an item for a command that waits for it.
  enum End: CaseIterable {
    case uploaded, failed, unsettled, dropped, moved, paused

    /// The end in a sentence about items.
    fileprivate var words: String {
      switch self {
      case .uploaded: "uploaded"
      case .failed: "could not be uploaded"
      case .unsettled: "uploaded, but the local file stays"
      case .dropped: "dropped by a user"
      case .moved: "moved to another server by a user"
      case .paused: "paused by a user"
      }
    }

    fileprivate var hint: String? {
      switch self {
      case .uploaded, .dropped: nil
      case .failed: "`edgeblue uploads list --all` shows the reasons; `edgeblue uploads retry ID` retries an item"
      case .unsettled:
        "`edgeblue uploads` shows the reasons; when they are removed, `edgeblue uploads run` sees to the files"
      case .moved: "`edgeblue uploads run --endpoint URL` uploads to that server"
      case .paused: "`edgeblue uploads resume ID` resumes an item"
      }
    }
  }

  private var counts: [End: Int] = [:]
  /// The failure because of what is left in the queue.
  var remainder: Failure?

  /// The number of items with an end.
  func count(_ end: End) -> Int { counts[end] ?? 0 }

  mutating func add(_ end: End) { counts[end, default: 0] += 1 }

  /// The failure of the command; `nil` if all items are uploaded and nothing is left.
  var failure: Failure? {
    let all = [itemsFailure, remainder].compactMap(\.self)
    guard !all.isEmpty else { return nil }
    let hints = all.compactMap(\.hint)
    return Failure(
      all.map(\.message).joined(separator: "; "), hint: hints.isEmpty ? nil : hints.joined(separator: "; "),
      status: all.contains { $0.status == .failed } ? .failed : .tryAgain)
  }

  private var itemsFailure: Failure? {
    let bad = End.allCases.filter { $0 != .uploaded && count($0) > 0 }
    guard !bad.isEmpty else { return nil }
    let total = counts.values.reduce(0, +)
    let hints = bad.compactMap(\.hint)
    return Failure(
      bad.map { "\(count($0)) of \(total) \($0.words)" }.joined(separator: ", "),
      hint: hints.isEmpty ? nil : hints.joined(separator: "; "),
      status: bad.contains { [.failed, .unsettled, .dropped].contains($0) } ? .failed : .tryAgain)
  }
}

/// What is left in a queue when a command has nothing more to do.
struct UploadRemainder {
  private var failed: [String] = []
  private var waiting: [String] = []

  /// - Parameters:
  ///   - queue: The queue that has nothing more to do.
  ///   - reported: The items that the command has reported.
  ///   - problems: The problems of folders of recordings.
  init(of queue: UploadQueue, after reported: UploadTally, problems: Int) throws {
    let store = queue.store
    let items = try store.totals().items
    func note(_ count: Int, _ list: inout [String], _ words: String) {
      if count > 0 { list.append("\(count) \(count == 1 ? "item" : "items") \(words)") }
    }
    note((items[.failed] ?? 0) - reported.count(.failed), &failed, "failed earlier")
    note((items[.delivered] ?? 0) - reported.count(.unsettled), &failed, "uploaded earlier, but the local file stays")
    if problems > 0 { failed.append("\(problems) \(problems == 1 ? "problem" : "problems") with recordings") }
    note(items[.paused] ?? 0, &waiting, "paused")
    let work = try store.work(at: queue.endpoint.url)
    for (account, count) in work.accounts.sorted(by: { $0.key < $1.key }) {
      note(max(count, 1), &waiting, "waiting for credentials of the account \(account.printable)")
    }
    let others = try store.serversInUse().filter { $0 != queue.endpoint.url }
    if !others.isEmpty { waiting.append("items waiting for \(others.joined(separator: ", "))") }
    if !work.abandoned.isEmpty { waiting.append("parts of dropped items on the server") }
  }

  /// The failure of the command; `nil` if nothing is left.
  var failure: Failure? {
    guard !failed.isEmpty || !waiting.isEmpty else { return nil }
    return Failure(
      "left in the queue: " + (failed + waiting).joined(separator: ", "),
      hint: "`edgeblue uploads` lists the items, with their reasons", status: failed.isEmpty ? .tryAgain : .failed)
  }
}
