internal import OutgoingHTTP
public import SpeedTest
internal import Timing

/// A runner of the quality-of-service tests that a control server requests.
///
/// The groups run one after the other, the lowest first, and up to four tests of a group at a time. Each test has a limit of
/// its own, and a result also when it cannot run.
public struct QoSRunner: Sendable {
  private let uuid: String
  private let token: String
  private let security: QoSSecurity
  private let outgoing: OutgoingHTTPClient

  /// The number of tests that run at a time.
  private static let concurrency = 4
  /// The time that a test may take beside the timeouts of its parts: connecting to the server, and its replies.
  private static let allowance = Duration.seconds(30)

  /// Creates a runner without connecting.
  /// - Parameters:
  ///   - test: The test that the control server has granted; its token authorises the client at QoS servers.
  ///   - certificates: The path of a PEM file with certificates to trust besides the system's; `nil` for none.
  ///   - acceptsAnyCertificate: Whether QoS servers may present any certificate.
  /// - Throws: `SpeedTestError` with code `.invalidArgument` if the file contains no certificates.
  public init(
    _ test: ControlTest, certificates: String? = nil, acceptsAnyCertificate: Bool = false
  ) throws(SpeedTestError) {
    uuid = test.id
    token = test.token
    // The token of a measurement without TLS is known to the network already.
    security = QoSSecurity(
      transport: acceptsAnyCertificate ? .unverifiedTLS : .tls(certificates: certificates),
      permitsPlain: !test.isEncrypted)
    outgoing = try .direct(certificates: certificates)
  }

  /// Runs all tests of a plan.
  /// - Parameters:
  ///   - plan: The tests.
  ///   - progress: A closure that is called after each test, with the number of those that have ended.
  /// - Returns: A result for each objective, in the order of the groups.
  /// - Throws: `CancellationError`.
  public func run(
    _ plan: QoSPlan, progress: @escaping @Sendable (Int) -> Void = { _ in }
  ) async throws -> QoSReport {
    let servers = QTPServers(token: token, security: security)
    let context = QoSContext(uuid: uuid, servers: servers, outgoing: outgoing)
    do {
      var results: [QoSResult] = []
      let start = TimeSource.continuous.now
      for group in plan.groups {
        results += try await Self.run(group, context, since: start, done: results.count, progress)
      }
      await servers.close()
      return QoSReport(results)
    } catch {
      await servers.close()
      throw error
    }
  }

  private static func run(
    _ group: [QoSObjective], _ context: QoSContext, since start: Duration, done: Int,
    _ progress: @Sendable (Int) -> Void
  ) async throws -> [QoSResult] {
    try await withThrowingTaskGroup(of: (Int, QoSResult).self) { tasks in
      var results: [Int: QoSResult] = [:]
      for (index, objective) in group.enumerated() {
        if index >= concurrency, let (number, result) = try await tasks.next() {
          results[number] = result
          progress(done + results.count)
        }
        tasks.addTask { (index, try await run(objective, context, since: start)) }
      }
      for try await (number, result) in tasks {
        results[number] = result
        progress(done + results.count)
      }
      return results.sorted { $0.key < $1.key }.map(\.value)
    }
  }

  private static func run(
    _ objective: QoSObjective, _ context: QoSContext, since origin: Duration
  ) async throws -> QoSResult {
    let time = TimeSource.continuous
    let start = time.now
    var result: QoSResult
    do {
      result = try await time.withLimit(limit(objective), orThrow: QoSSocket.Failure.timedOut) {
        try await test(objective.kind).run(objective, context)
      }
    } catch let error as SpeedTestError {
      result = QoSResult(objective, target: "objective \(objective.id)", .notRun(error.message))
    } catch let error as QoSSocket.Failure {
      let reason =
        if case .refused(let reason) = error { reason } else { "it did not end within its limit" }
      result = QoSResult(objective, target: "objective \(objective.id)", .failed(reason))
    }
    result.startNs = (start - origin).wholeNanoseconds
    result.durationNs = (time.now - start).wholeNanoseconds
    return result
  }

  private static func limit(_ objective: QoSObjective) -> Duration {
    let parts = ["timeout", "conn_timeout", "download_timeout", "call_duration"].map {
      objective.duration($0, default: .seconds(5))
    }
    return parts.reduce(Duration.zero, +) * 2 + allowance
  }

  private static func test(_ kind: QoSKind) -> any QoSTest.Type {
    switch kind {
    case .tcp: TCPQoSTest.self
    case .udp: UDPQoSTest.self
    case .voip: CallQoSTest.self
    case .nonTransparentProxy: ProxyQoSTest.self
    case .httpProxy: HTTPProxyQoSTest.self
    case .website: WebsiteQoSTest.self
    case .dns: DNSQoSTest.self
    case .traceroute, .tracerouteMasked: TracerouteQoSTest.self
    }
  }
}
