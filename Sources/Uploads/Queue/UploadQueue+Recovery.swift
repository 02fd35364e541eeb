internal import Glibc

extension UploadQueue {
  /// Takes up what an earlier program has left.
  func recover() async throws {
    version = try store.version()
    for item in try store.items(in: [.uploading]) { mayBeThere.insert(item.id) }
    for item in try store.items(in: [.delivered]) {
      do { _ = try await settle(item) } catch { logger.error("settling item \(item.id): \(error)") }
    }
    if try !store.unwrittenManifests().isEmpty { manifestBell.source.yield(()) }
    try follow()
  }

  /// Looks every now and then whether another program has changed something.
  func followStore() async {
    while true {
      do { try await clock.sleep(for: options.poll) } catch { return }
      keep("looking at the queue") { () throws(UploadsError) in
        let present = try store.version()
        guard present != version else { return }
        version = present
        try follow()
      }
    }
  }

  /// Brings what is known of the items to what the store says.
  private func follow() throws(UploadsError) {
    handle(.paused(try store.isPaused))
    let open = try store.openItems()
    let ids = Set(open.map(\.id))
    for id in machine.ids where !ids.contains(id) { handle(.removed(id)) }
    for item in open {
      let known = machine.attempts(of: item.id)
      // A person who has it tried again sets the count back.
      guard known == nil || known ?? 0 > item.attempts else { continue }
      handle(.added(item.id, account: item.account, attempts: item.attempts))
    }
  }

  /// How long an upload in parts may be forgotten on the server, and how often it is looked for: a day.
  static let orphanAge = Duration.seconds(86_400)

  /// Has servers forget uploads in parts that nobody goes on with: those of this queue's objects that were begun more
  /// than a day ago and are not the ones it knows. A program that is killed between beginning one and noting it leaves
  /// such a one, and its parts cost room.
  func sweep() async {
    while true {
      // At the beginning credentials are still to come, and the queue has better to do.
      do { try await clock.sleep(for: .seconds(60)) } catch { return }
      do {
        for place in try store.places() {
          if let credentials = keepers[place.account]?.current {
            try await sweep(place.bucket, place.account, credentials)
          }
        }
      } catch is CancellationError {
        return
      } catch {
        logger.info("looking for forgotten uploads: \(error)")
      }
      do { try await clock.sleep(for: Self.orphanAge) } catch { return }
    }
  }

  private func sweep(_ bucket: String, _ account: String, _ credentials: S3Credentials) async throws {
    for upload in try await client.unfinishedUploads(bucket: bucket, credentials: credentials) {
      let age = store.now + client.clockSkew * 1000 - upload.startedAtMs
      guard age > Self.orphanAge.milliseconds, let item = try store.item(bucket: bucket, key: upload.key),
        item.request.account == account, item.uploadID != upload.uploadID, !machine.running.contains(item.id)
      else { continue }
      try await client.abortMultipart(
        upload.uploadID, bucket: bucket, key: upload.key, credentials: credentials)
      logger.info("item \(item.id): an upload in parts that was forgotten is aborted")
    }
  }
}

extension Duration {
  /// In whole milliseconds.
  var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
