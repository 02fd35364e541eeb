extension UploadQueue {
  /// Waits until no other program uploads this queue, where that is wanted.
  func turn() async throws -> QueueLock {
    defer { isElsewhere = false }
    var (since, told) = (store.now, Set<Int64>())
    while true {
      if let lock = try QueueLock(path: store.lockPath) { return lock }
      guard options.waitsForTurn else {
        throw UploadsError(
          .alreadyRunning, "another program uploads this queue", hint: "it takes what is queued here too")
      }
      isElsewhere = true
      try await hear(&since, &told)
      try await clock.sleep(for: options.turnPoll)
    }
  }

  /// Hears of what another program has delivered.
  /// - Parameters:
  ///   - since: what ended earlier is of no interest, in Unix milliseconds.
  ///   - told: what was heard of already.
  private func hear(_ since: inout Int64, _ told: inout Set<Int64>) async throws {
    guard let disk else { return }
    var isComplete = true
    let ended = try store.ended(since: since)
    for item in ended where item.state == .done && !told.contains(item.id) {
      do {
        try await disk.letGo(item)
        told.insert(item.id)
      } catch {
        // Again the next time.
        isComplete = false
        logger.error("settling item \(item.id): \(error)")
      }
    }
    if isComplete {
      since = ended.compactMap(\.endedAtMs).max() ?? since
      told = Set(ended.filter { $0.endedAtMs == since }.map(\.id))
    }
  }
}
