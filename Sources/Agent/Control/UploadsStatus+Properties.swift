internal import DBus

extension UploadsStatus {
  /// Creates a status from D-Bus properties, or returns `nil` if the agent runs no upload queue.
  init?(properties: [String: Value]) {
    guard let items = properties["Uploads"]?.counts else { return nil }
    self.init(
      items: items, bytesLeft: properties["UploadBytesLeft"]?.integer() ?? 0,
      oldestAtMs: properties["UploadOldestAtMs"]?.integer(), isPaused: properties["UploadsPaused"]?.bool ?? false,
      counters: properties["UploadCounters"]?.counts ?? [:], failures: properties["UploadFailures"]?.counts ?? [:])
    problem = properties["UploadProblem"]?.string
  }
}
