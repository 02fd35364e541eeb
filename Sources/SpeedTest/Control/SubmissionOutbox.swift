package import DurableFiles
internal import FoundationEssentials
internal import JSONValues

/// An attempt to submit the results of a test, for display.
public struct SubmissionReport: Sendable, Hashable {
  /// The identifier of the test.
  public var test: String
  /// The address of the control server.
  public var server: String
  /// A Boolean value that indicates whether the document has the results of the QoS tests, and not those of the test.
  public var isQoS: Bool
  /// The number of attempts, with those of earlier programs.
  public var attempts: Int
  /// The outcome of the attempt; `nil` if none was made.
  public var outcome: SubmissionOutcome?

  init(_ submission: Submission, _ outcome: SubmissionOutcome?) {
    test = submission.test
    server = submission.server
    isQoS = submission.kind == .qos
    attempts = submission.attempts
    self.outcome = outcome ?? submission.refusal.map { .declined($0) }
  }
}

/// A folder with the results that control servers have not confirmed yet: a file for each.
///
/// A file is written before the first attempt and removed after the confirmation, so that a result is submitted also after
/// a crash, and once. One program at a time submits.
public struct SubmissionOutbox: Sendable {
  /// The path of the folder.
  public let path: String
  private let disk: Disk

  /// The largest file in bytes.
  private static let sizeLimit = 64 << 20
  /// The number of refused results that are kept for the user.
  private static let refusalLimit = 100

  /// Creates an outbox in a folder, without accessing the disk.
  public init(path: String) { self.init(path: path, disk: Disk()) }

  /// Creates an outbox on a disk whose steps a test can make fail.
  package init(path: String, disk: Disk) {
    self.path = path
    self.disk = disk
  }

  /// Stores a submission durably.
  /// - Throws: ``SpeedTestError`` with code `.storage`.
  package func add(_ submission: Submission) throws(SpeedTestError) {
    try SpeedTestError.storing { try disk.createFolder(path) }
    try save(submission)
  }

  /// Returns the results that wait, the oldest first, and those that a server has refused.
  /// - Throws: ``SpeedTestError`` with code `.storage`, and `.damagedFile` if the file of one of them is corrupt.
  public func reports() throws(SpeedTestError) -> [SubmissionReport] {
    let (submissions, damaged) = try load()
    if let damaged { throw damaged }
    return submissions.map { SubmissionReport($0, nil) }
  }

  /// Submits the results that wait, the oldest first, and returns what became of each.
  ///
  /// After a result that a server did not take, its others are left for later.
  /// - Parameters:
  ///   - transport: The transport to the control servers.
  ///   - server: The address of the control server whose results are submitted; `nil` for all servers.
  /// - Throws: ``SpeedTestError`` with code `.busy` if another program submits, `.storage`, and `.damagedFile` for a
  ///   corrupt file, after all others; `CancellationError`.
  public func submit(
    by transport: some ControlTransport, to server: String? = nil
  ) async throws -> [SubmissionReport] {
    guard try exists() else { return [] }
    guard let lock = try lock() else {
      throw SpeedTestError(.busy, "another program submits the results in \(path)")
    }
    defer { lock.release() }
    let (submissions, damaged) = try load()
    var reports: [SubmissionReport] = []
    var unavailable: Set<String> = []
    for var submission in submissions
    where submission.refusal == nil && server ?? submission.server == submission.server {
      guard !unavailable.contains(submission.server) else {
        reports.append(SubmissionReport(submission, nil))
        continue
      }
      let outcome = try await attempt(&submission, transport)
      if case .waiting = outcome { unavailable.insert(submission.server) }
      reports.append(SubmissionReport(submission, outcome))
    }
    try prune()
    if let damaged { throw damaged }
    return reports
  }

  private func attempt(
    _ submission: inout Submission, _ transport: some ControlTransport
  ) async throws -> SubmissionOutcome {
    var actions = submission.handle(.begin)
    while !actions.isEmpty {
      switch actions.removeFirst() {
      case .save: try save(submission)
      case .send: actions += submission.handle(try await Self.send(submission, transport))
      case .look: actions += submission.handle(.looked(isThere: try await Self.look(submission, transport)))
      case .finish(let outcome):
        if outcome == .submitted { try remove(submission) }
        return outcome
      }
    }
    return .waiting("the attempt did not end")
  }

  private static func send(_ submission: Submission, _ transport: some ControlTransport) async throws
    -> Submission.Event
  {
    do {
      let reply = try await transport.post(submission.url, body: Data(submission.document.utf8))
      let answer = try ControlAnswer(reply)
      return .replied(status: answer.reply.status, errors: answer.errors)
    } catch let error as SpeedTestError {
      return error.code == .unreachable ? .unreached(error.message) : .lost(error.message)
    }
  }

  /// Returns whether the server has QoS results of the test; `nil` if it does not say.
  private static func look(_ submission: Submission, _ transport: some ControlTransport) async throws -> Bool? {
    let body = JSONValue.object(["test_uuid": .string(submission.test), "language": "en"]).encoded
    do {
      let reply = try await transport.post(submission.server + "/qosTestResult", body: Data(body))
      let answer = try ControlAnswer(reply)
      guard answer.reply.isSuccess else { return nil }
      return answer.members["testresultdetail"]?.elements?.isEmpty == false
    } catch is SpeedTestError {
      return nil
    }
  }

  // MARK: Files

  private func exists() throws(SpeedTestError) -> Bool {
    try SpeedTestError.storing { try disk.exists(path) }
  }

  private func lock() throws(SpeedTestError) -> FileLock? {
    try SpeedTestError.storing { try FileLock(path: path + "/lock", attempts: 20) }
  }

  private func file(_ submission: Submission) -> WholeFile {
    WholeFile(path: "\(path)/\(submission.test)-\(submission.kind.rawValue).json", limit: Self.sizeLimit, disk: disk)
  }

  private func save(_ submission: Submission) throws(SpeedTestError) {
    try SpeedTestError.storing { try file(submission).write(document: submission) }
  }

  private func remove(_ submission: Submission) throws(SpeedTestError) {
    try SpeedTestError.storing { try file(submission).remove() }
  }

  /// The submissions of all files, the oldest first and the result of a test before its QoS results; and the error of the
  /// last corrupt file.
  private func load() throws(SpeedTestError) -> (submissions: [Submission], damaged: SpeedTestError?) {
    guard try exists() else { return ([], nil) }
    var submissions: [Submission] = []
    var damaged: SpeedTestError?
    for name in try SpeedTestError.storing({ try disk.names(in: path) }) where name.hasSuffix(".json") {
      let whole = WholeFile(path: path + "/" + name, limit: Self.sizeLimit, disk: disk)
      do throws(SpeedTestError) {
        // There is none if another program has submitted it meanwhile.
        guard let submission = try whole.document(Self.decode) else { continue }
        guard file(submission).path == whole.path else { throw SpeedTestError(damaged: whole.path) }
        submissions.append(submission)
      } catch let error where error.code == .damagedFile {
        damaged = error
      }
    }
    return (submissions.sorted { ($0.createdMs, $1.kind.rawValue) < ($1.createdMs, $0.kind.rawValue) }, damaged)
  }

  /// Returns `nil` for a corrupt document.
  static func decode(_ data: Data) -> Submission? {
    guard let submission = try? JSONDecoder().decode(Submission.self, from: data), submission.isPlausible else {
      return nil
    }
    return submission
  }

  private func prune() throws(SpeedTestError) {
    for submission in try load().submissions.filter({ $0.refusal != nil }).dropLast(Self.refusalLimit) {
      try remove(submission)
    }
  }
}
