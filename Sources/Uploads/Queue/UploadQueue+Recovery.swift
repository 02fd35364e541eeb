internal import DurableFiles
internal import ErrorReporting
internal import FoundationEssentials
internal import Streams
internal import Timing

extension UploadQueue {
  /// Continues what an earlier process left unfinished.
  func recover() async throws {
    version = try store.version()
    keep("record the server") { () throws(UploadsError) in try store.remember(UploadServer(client.endpoint)) }
    for server in try store.servers() where server.endpoint == client.endpoint.url {
      client.learn(server.condition, .whole)
      client.learn(server.completion, .parts)
    }
    for item in try store.items(in: [.delivered]) {
      do { _ = try await settle(item) } catch {
        logger.error("item not settled", metadata: ["item": "\(item.id)", "reason": "\(error.safeText)"])
      }
    }
    if try !store.unwrittenManifests(at: client.endpoint.url).isEmpty { manifestWake.signal() }
    try reconcile()
  }

  /// Looks for changes made by other processes: after each change of the store's log, which is watched, and besides now and
  /// then; every ``Options/pollInterval`` where the log cannot be watched.
  func followStore() async {
    let changed = WakeSignal()
    let watch = watchStore()
    // What has changed before the watch began.
    changed.signal()
    await withDiscardingTaskGroup { group in
      group.addTask {
        if let watch { for await _ in watch.changes { changed.signal() } }
        // Its folder has been renamed, or there is no watch.
        await self.look(every: self.options.pollInterval)
      }
      group.addTask { await self.look(every: max(self.options.pollInterval, Self.checkInterval)) }
      for await _ in changed.signals {
        // A change is in the log before it is on disk, and is seen after that.
        for _ in 0..<Self.looks {
          look()
          do { try await clock.sleep(for: options.pollInterval) } catch { break }
        }
      }
      group.cancelAll()
    }
  }

  /// The number of looks after a change of the log: 10, which are 5 s.
  private static let looks = 10
  /// The interval at which a store that is watched is looked at all the same: 30 s.
  private static let checkInterval: Duration = .seconds(30)

  private func look() {
    keep("read the queue", isWrite: false) { () throws(UploadsError) in
      let present = try store.version()
      guard present != version else { return }
      version = present
      try reconcile()
      store.feed.publish(.itemsChanged)
    }
  }

  private func look(every interval: Duration) async {
    while true {
      do { try await clock.sleep(for: interval) } catch { return }
      look()
    }
  }

  /// Watches the store's log; `nil` if the kernel grants no watch.
  private func watchStore() -> FolderWatch? {
    let file = URL(filePath: store.path)
    do throws(FileError) {
      return try FolderWatch(
        path: file.deletingLastPathComponent().path, names: [file.lastPathComponent + "-wal"], reportsWrites: true)
    } catch {
      logger.info("\(error); the queue is looked at every \(options.pollInterval)")
      return nil
    }
  }

  /// Brings the machine's items in line with the store's.
  private func reconcile() throws(UploadsError) {
    abandonedWake.signal()
    handle(.paused(try store.isPaused))
    // On a full disk they are uploaded all the same.
    keep("give items to the server", isWrite: false) { () throws(UploadsError) in
      try store.bind(to: client.endpoint.url)
    }
    let active = try store.activeItems(at: client.endpoint.url)
    let strangers = Set(active.map(\.account)).subtracting(accounts.keys)
    for name in strangers where report.strangers.insert(name).inserted {
      keep("record an event") { () throws(UploadsError) in
        try store.record(
          account: name, .credentialsMissing, "the program that uploads the queue has no credentials for it")
      }
    }
    let ids = Set(active.map(\.id))
    for id in machine.ids where !ids.contains(id) { handle(.removed(id)) }
    for item in active {
      // A user who retries an item resets its failures.
      if let known = machine.failures(of: item.id), known <= item.failures { continue }
      handle(.added(item.id, account: item.account, failures: item.failures))
    }
  }

  /// Aborts the multipart uploads of items that users have dropped or moved, after each change by a user and when there
  /// are credentials.
  func abortAbandoned() async {
    for await _ in abandonedWake.signals {
      var failures = 0
      while await !abortUploads() {
        failures += 1
        let delay = QueueMachine.backoff.delay(afterFailures: failures, random: options.random())
        do { try await clock.sleep(for: delay) } catch { return }
      }
    }
  }

  /// - Returns: `false` if an upload is to be aborted later.
  private func abortUploads() async -> Bool {
    var isComplete = true
    do {
      for upload in try store.abandonedUploads(at: client.endpoint.url) {
        // New credentials begin the next turn.
        guard let credentials = accounts[upload.account]?.current else { continue }
        guard !machine.isOffline else { return false }
        do {
          try await client.abortMultipart(
            upload.uploadID, bucket: upload.bucket, key: upload.key, credentials: credentials)
          try store.forget(upload)
          report.refusedAborts[upload.id] = nil
        } catch let error as UploadsError {
          logger.info("parts not removed", metadata: ["reason": "\(error.safeText)"])
          noteRefusal(error, of: upload.account)
          if [.permission, .final].contains(FailureKind(error)) {
            report.refusedAborts[upload.id] = upload.account
          } else {
            isComplete = false
          }
        }
      }
    } catch is CancellationError {
      return true
    } catch {
      logger.info("parts not removed", metadata: ["reason": "\(error.safeText)"])
      return false
    }
    return isComplete
  }

  /// The age after which an unfinished multipart upload is aborted, and the interval of that search: a day.
  static let orphanAge = Duration.seconds(86_400)

  /// Aborts the multipart uploads of this queue's objects that are older than a day and that the store does not know.
  ///
  /// A process that is killed between creating one and recording it leaves it on the server, where its parts occupy
  /// space.
  func sweep() async {
    while true {
      // At the start there are no credentials yet, and the items come first.
      do { try await clock.sleep(for: .seconds(60)) } catch { return }
      do {
        for (bucket, account) in try store.buckets(at: client.endpoint.url) {
          if let credentials = accounts[account]?.current { try await sweep(bucket, account, credentials) }
        }
      } catch is CancellationError {
        return
      } catch {
        logger.info("unfinished uploads not listed", metadata: ["reason": "\(error.safeText)"])
      }
      do { try await clock.sleep(for: Self.orphanAge) } catch { return }
    }
  }

  private func sweep(_ bucket: String, _ account: String, _ credentials: S3Credentials) async throws {
    for upload in try await client.unfinishedUploads(bucket: bucket, credentials: credentials) {
      let age = store.now + client.clockSkew * 1000 - upload.startedAtMs
      guard age > Self.orphanAge.milliseconds(rounded: .towardZero),
        let item = try store.item(at: client.endpoint.url, bucket: bucket, key: upload.key),
        item.request.account == account,
        item.uploadID != upload.uploadID, !machine.uploading.contains(item.id)
      else { continue }
      try await client.abortMultipart(
        upload.uploadID, bucket: bucket, key: upload.key, credentials: credentials)
      logger.info("unfinished multipart upload aborted", metadata: ["item": "\(item.id)"])
    }
  }
}
