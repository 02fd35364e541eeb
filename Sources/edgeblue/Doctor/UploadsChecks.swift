import Uploads

/// The check of the servers that the upload queue knows: some replace objects whatever a request says.
enum UploadsChecks {
  /// Returns one finding for each server; none without a queue.
  static func findings(_ store: QueueStore) -> [Finding] {
    do throws(UploadsError) {
      return try store.servers().map(finding)
    } catch {
      let failure = Failure(error)
      return [Finding("uploads", .fail, failure.message, fix: failure.hint)]
    }
  }

  private static func finding(_ server: UploadServer) -> Finding {
    if let remark = server.remark {
      return Finding(
        "uploads", .warn, remark,
        fix: "give each machine a prefix of its own, or use a server that keeps it (docs/uploads.md has a table)")
    }
    let unknown = [(server.condition, "in one request"), (server.completion, "in parts")].filter { $0.0 == .unknown }
    return Finding(
      "uploads", .ok,
      unknown.isEmpty
        ? "\(server.endpoint) replaces no object"
        : "\(server.endpoint) has not shown yet whether it keeps If-None-Match for objects "
          + unknown.map(\.1).joined(separator: " and "))
  }
}
