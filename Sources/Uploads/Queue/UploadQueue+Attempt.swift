internal import ErrorReporting

extension UploadQueue {
  /// Runs an attempt in a task of its own, which the machine can cancel.
  func supervise(_ id: Int64) async {
    let task = Task { await self.attempt(id) }
    progress.begin(id, task)
    await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
    progress.end(id)
  }

  private func attempt(_ id: Int64) async {
    do {
      guard let item = try await begin(id) else { return handle(.removed(id)) }
      let name = item.request.account
      guard let credentials = accounts[name]?.current else {
        throw UploadsError(.noCredentials, "there are no credentials for the account \(name)")
      }
      try credentials.scope?.check(bucket: item.request.bucket, key: item.request.key)
      report.counters.attempts += 1
      let parts = options.plan.parts(of: item.request.content.size).count
      progress.beginSending(id, after: item.parts.reduce(0) { $0 + $1.size }, parts: max(parts - item.parts.count, 0))
      let uploader = ItemUploader(
        client: client, store: store, plan: options.plan, item: item, credentials: credentials, progress: progress,
        clock: clock, hasAbandoned: { [abandonedWake] in abandonedWake.signal() })
      try await uploader.run()
      await probeConditions(with: item, credentials)
      let isDone = try await deliverOrSay(item)
      if isDone { report.counters.uploaded += 1 }
      report.counters.uploadedBytes += item.request.content.size
      handle(.succeeded(id))
    } catch is CancellationError {
      // A user paused or dropped the item, or the process stops: the next attempt looks for the object on the server.
    } catch {
      let failure = UploadFailure(error)
      report.counters.failures[failure.kind, default: 0] += 1
      logger.info("upload failed", metadata: ["item": "\(id)", "kind": "\(failure.kind.rawValue)"])
      handle(.failed(id, failure))
    }
  }

  /// Adapts the number of items that are sent at a time to the line, for as long as the queue uploads.
  func followLine() async {
    for await _ in progress.itemsChanged.signals { handle(.limited(progress.items)) }
  }

  /// The shortest interval at which the number of requests is adapted to the line: 2 s.
  static let lineInterval = Duration.seconds(2)

  /// Finds out, with a small object and once for each server, whether the server keeps the condition that no object is
  /// replaced, and records it.
  private func probeConditions(with item: UploadItem, _ credentials: S3Credentials) async {
    let request = item.request
    do {
      guard
        try await client.probeConditions(
          with: request.content, bucket: request.bucket, key: request.key, credentials: credentials)
      else { return }
      var server = UploadServer(client.endpoint)
      server.condition = client.condition
      server.completion = client.completion
      try store.remember(server)
      try store.recordIgnoredCondition(of: server)
    } catch is CancellationError {
      // The next item is asked with.
    } catch {
      logger.info("condition not probed", metadata: ["reason": "\(error.safeText)"])
    }
  }
}
