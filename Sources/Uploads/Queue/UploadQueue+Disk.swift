internal import ErrorReporting
internal import Glibc

extension UploadQueue {
  /// Accesses the store. Nothing is lost when that fails: the next run finds the item as it was.
  /// - Parameter isWrite: A Boolean value that indicates whether success shows that the disk has space.
  func keep(_ operation: String, isWrite: Bool = true, _ body: () throws(UploadsError) -> Void) {
    do {
      try body()
      if isWrite || !report.isDiskFull { forgetProblem() }
    } catch {
      note(error, operation)
    }
  }

  /// Notes an error of the store, and logs it once: on a full disk every record fails, several times a second, each with
  /// the number of another item.
  private func note(_ error: UploadsError, _ operation: String) {
    let isFull = error.code == .noSpace
    guard isFull ? !report.isDiskFull : report.problem != error.description else { return }
    logger.error("\(operation): \(error)")
    report.problem = error.description
    report.isDiskFull = isFull
  }

  private func forgetProblem() {
    report.problem = nil
    report.isDiskFull = false
  }

  /// Records that the server has an item, as ``deliver(_:)`` does.
  /// - Throws: `UploadsError` that says so if the disk has no space for the record: the next attempt finds the object.
  func deliverOrSay(_ item: UploadItem) async throws -> Bool {
    do {
      let isDone = try await deliver(item)
      if report.isDiskFull { forgetProblem() }
      return isDone
    } catch let error as UploadsError where error.code == .noSpace {
      let unrecorded = UploadsError(
        .noSpace, "what is uploaded cannot be recorded: there is no space left on the disk", hint: error.hint)
      // Whatever else did not fit before.
      if report.problem != unrecorded.description { logger.error("\(unrecorded)") }
      report.problem = unrecorded.description
      report.isDiskFull = true
      throw unrecorded
    }
  }

  /// Writes to the store; on a full disk a second time, after the disk's owner has freed space.
  private func freeingSpace<Value: Sendable>(
    _ body: () throws(UploadsError) -> Value
  ) async throws -> Value {
    do {
      return try body()
    } catch let error where error.code == .noSpace {
      guard let disk, try await disk.freeSpace() else { throw error }
      return try body()
    }
  }

  /// Records that the upload of an item has begun, if the disk is not full: uploading is what frees space, and an upload
  /// that is not recorded is found on the server again.
  /// - Returns: The item; `nil` if a user paused or dropped it meanwhile.
  func begin(_ id: Int64) async throws -> UploadItem? {
    do {
      return try await freeingSpace { () throws(UploadsError) in try store.begin(id) }
    } catch let error as UploadsError where error.code == .noSpace {
      note(error, "record that item \(id) is being uploaded")
      guard let item = try store.item(id), [.waiting, .uploading].contains(item.state) else { return nil }
      return item
    }
  }

  /// Records that the server has an item, and sees to its local files.
  /// - Returns: `true` if the item is done.
  /// - Throws: `CancellationError` if a user has dropped or moved the item: another server does not have it.
  func deliver(_ item: UploadItem) async throws -> Bool {
    defer {
      if item.request.manifest != nil { manifestWake.signal() }
    }
    if item.request.afterwards == .keep, disk == nil {
      // The file stays: if a power cut undoes this record, the object is found on the server again.
      guard try store.finish(item.id, as: .done, at: endpoint.url, isDurable: false) else { throw CancellationError() }
      return true
    }
    do {
      let isRecorded = try await freeingSpace { () throws(UploadsError) in
        try store.finish(item.id, as: .delivered, at: endpoint.url)
      }
      guard isRecorded else { throw CancellationError() }
    } catch let error as UploadsError where error.code == .noSpace && item.request.afterwards == .remove {
      // The server has proven that it has the bytes. Removing the file may free the space for the record; otherwise the
      // next attempt finds no file and asks the server.
      try remove(item)
    }
    return try await settle(item)
  }

  /// Releases and removes the local files of an item that the server has; repeated if the process stopped meanwhile.
  /// - Returns: `true` if the item is done.
  func settle(_ item: UploadItem) async throws -> Bool {
    do {
      try await disk?.release(item)
      if item.request.afterwards == .remove { try remove(item) }
    } catch {
      report.problem = "item \(item.id) is uploaded, but its local files are not settled: \(error.safeText)"
      logger.error("item not settled", metadata: ["item": "\(item.id)", "reason": "\(error.safeText)"])
      try store.recordUnsettled(item.id, error.safeText)
      return false
    }
    return try await freeingSpace { () throws(UploadsError) in try store.finish(item.id, as: .done) }
  }

  private func remove(_ item: UploadItem) throws(UploadsError) {
    let path = item.request.content.path
    do {
      guard try Fingerprint.of(path) == item.fingerprint else {
        logger.warning("file kept, because it changed since it was queued", metadata: ["item": "\(item.id)"])
        return
      }
    } catch let error where error.code == .fileMissing {
      // Removed already; the sidecar may still exist.
    }
    for file in [path, item.request.sidecar].compactMap({ $0 }) {
      guard unlink(file) == 0 || errno == ENOENT else { throw .disk("remove \(file)") }
    }
  }
}
