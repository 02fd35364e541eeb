internal import Glibc

extension UploadQueue {
  /// Writes to the store; on a full disk once more, when what may go has gone.
  private func makingRoom<Value: Sendable>(
    _ body: () throws(UploadsError) -> Value
  ) async throws -> Value {
    do {
      return try body()
    } catch let error where error.code == .noSpace {
      guard let disk, try await disk.makeRoom() else { throw error }
      return try body()
    }
  }

  /// Notes that an item is being uploaded, if there is room for that: uploading is what makes room, and what is not noted
  /// is found on the server again.
  /// - Returns: the item; `nil` when a person has held or dropped it meanwhile.
  func begin(_ id: Int64) async throws -> UploadItem? {
    do {
      return try await makingRoom { () throws(UploadsError) in try store.begin(id) }
    } catch let error as UploadsError where error.code == .noSpace {
      problem = error.description
      guard let item = try store.item(id), [.waiting, .uploading].contains(item.state) else { return nil }
      return item
    }
  }

  /// Notes that the server has an item, and sees to the local files.
  /// - Returns: whether all was done.
  func deliver(_ item: UploadItem) async throws -> Bool {
    defer {
      if item.request.manifest != nil { manifestBell.source.yield(()) }
    }
    if item.request.afterwards == .keep, disk == nil {
      // The file stays: should a power cut undo this, the item is found on the server again.
      try store.finish(item.id, as: .done, isLasting: false)
      return true
    }
    do {
      try await makingRoom { () throws(UploadsError) in try store.finish(item.id, as: .delivered) }
    } catch let error as UploadsError where error.code == .noSpace && item.request.afterwards == .remove {
      // The server has shown that it has the bytes. Without the file there may be room to say so; if not, the next
      // attempt finds no file and looks at the server.
      try remove(item)
    }
    return try await settle(item)
  }

  /// Sees to the local files of an item that the server has; again, if the program ended meanwhile.
  /// - Returns: whether all was done.
  func settle(_ item: UploadItem) async throws -> Bool {
    do {
      try await disk?.letGo(item)
      if item.request.afterwards == .remove { try remove(item) }
    } catch {
      problem = "item \(item.id) is uploaded, but not all is done: \(error)"
      logger.error("settling item \(item.id): \(error)")
      return false
    }
    try await makingRoom { () throws(UploadsError) in try store.finish(item.id, as: .done) }
    return true
  }

  private func remove(_ item: UploadItem) throws(UploadsError) {
    let path = item.request.content.path
    do {
      guard try Fingerprint.of(path) == item.fingerprint else {
        logger.warning("item \(item.id): its file has changed since it was queued, and stays")
        return
      }
    } catch let error where error.code == .fileMissing {
      // Removed already; its sidecar may still be there.
    }
    for file in [path, item.request.sidecar].compactMap({ $0 }) {
      guard unlink(file) == 0 || errno == ENOENT else { throw .disk("removing \(file)") }
    }
  }
}
