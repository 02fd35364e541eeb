internal import DurableFiles
internal import FoundationEssentials

/// The status of a test, which the request of the next one reports.
public enum ControlTestStatus: String, Sendable, Hashable, Codable {
  /// No test was requested before.
  case none = "NONE"
  /// The test finished, and its result was submitted.
  case end = "END"
  /// The user or the end of the program aborted the test.
  case aborted = "ABORTED"
  /// The test failed before its end.
  case failed = "ERROR"
  /// The server did not grant a test.
  case notGranted = "ERROR_FETCH"
  /// The result is not submitted yet.
  case notSubmitted = "ERROR_SUBMIT"
}

/// A file with what this client is at each control server: its identifier, the accepted terms, and the count of tests.
struct ControlStore: Sendable {
  struct Identity: Sendable, Hashable, Codable {
    /// The identifier that the server has assigned.
    var client: String?
    /// The version of the terms that the user has accepted.
    var terms: Int?
    /// The number of tests that were requested.
    var tests = 0
    /// The status of the last of them.
    var status = ControlTestStatus.none
  }

  private struct Document: Codable {
    var version = 1
    /// By the address of the control server.
    var servers: [String: Identity] = [:]
  }

  private let file: WholeFile
  private let lockPath: String
  /// The attempts to take the lock, 5 ms apart; an update takes some milliseconds.
  private static let lockAttempts = 400

  init(folder: String, disk: Disk = Disk()) {
    file = WholeFile(path: folder + "/control.json", limit: 1 << 20, disk: disk)
    lockPath = folder + "/control.lock"
  }

  /// Returns what is stored about a server.
  /// - Throws: ``SpeedTestError`` with code `.storage` or `.damagedFile`.
  func identity(at server: String) throws(SpeedTestError) -> Identity { try load().servers[server] ?? Identity() }

  /// Changes what is stored about a server, durably.
  /// - Throws: ``SpeedTestError`` with code `.storage`, `.damagedFile` or `.busy`.
  func update(_ server: String, _ change: (inout Identity) -> Void) throws(SpeedTestError) {
    try SpeedTestError.storing {
      guard let lock = try FileLock(path: lockPath, attempts: Self.lockAttempts) else {
        throw SpeedTestError(.busy, "another program holds \(lockPath)")
      }
      defer { lock.release() }
      var document = try load()
      let old = document.servers[server]
      var new = old ?? Identity()
      change(&new)
      guard new != old else { return }
      document.servers[server] = new
      try file.write(document: document, .prettyPrinted)
    }
  }

  private func load() throws(SpeedTestError) -> Document {
    try file.document(Self.decode) ?? Document()
  }

  private static func decode(_ data: Data) -> Document? {
    guard let document = try? JSONDecoder().decode(Document.self, from: data), document.version == 1,
      document.servers.values.allSatisfy({ $0.tests >= 0 && $0.client.map(ControlIdentifier.isClient) ?? true })
    else { return nil }
    return document
  }
}
