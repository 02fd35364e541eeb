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
    switch server.condition {
    case .kept: Finding("uploads", .ok, "\(server.endpoint) replaces no object")
    case .unknown: Finding("uploads", .ok, "\(server.endpoint) has not shown yet whether it keeps If-None-Match")
    case .ignored, .refused:
      Finding(
        "uploads", .warn,
        "\(server.endpoint) does not keep If-None-Match: another program that writes a key at once may be replaced",
        fix: "give each machine a prefix of its own, or use a server that keeps it (docs/uploads.md has a table)")
    }
  }
}
