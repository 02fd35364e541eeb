internal import ErrorReporting

extension UploadQueue {
  /// Takes the queue's lock, and waits for it if the options say so.
  func takeLock() async throws -> QueueLock {
    defer { report.isUploadedElsewhere = false }
    var others = OtherProcess(since: store.now)
    while true {
      if let lock = try QueueLock(path: store.lockPath) { return lock }
      guard options.waitsForLock else {
        throw UploadsError(
          .alreadyRunning, "another process uploads this queue", hint: "that process uploads new items too")
      }
      report.isUploadedElsewhere = true
      try await release(uploadedBy: &others)
      try await clock.sleep(for: options.lockInterval)
    }
  }

  /// The items of another process that are known to be uploaded.
  private struct OtherProcess {
    /// Items that finished earlier are known, in Unix milliseconds.
    var since: Int64
    /// The known items among those that finished at that instant.
    var released: Set<Int64> = []
  }

  /// Releases the files of the items that another process has uploaded.
  private func release(uploadedBy others: inout OtherProcess) async throws {
    guard let disk else { return }
    var isComplete = true
    let finished = try store.finishedItems(since: others.since)
    for item in finished where item.state == .done && !others.released.contains(item.id) {
      do {
        try await disk.release(item)
        others.released.insert(item.id)
      } catch {
        // It is released again the next time.
        isComplete = false
        logger.error("files not released", metadata: ["item": "\(item.id)", "reason": "\(error.safeText)"])
      }
    }
    if isComplete {
      others.since = finished.compactMap(\.finishedAtMs).max() ?? others.since
      others.released = Set(finished.filter { $0.finishedAtMs == others.since }.map(\.id))
    }
  }
}
