internal import JSONValues
internal import OutgoingHTTP
internal import SpeedTest

/// A quality-of-service test of one kind: from its objective to its result.
protocol QoSTest {
  /// Runs the test of an objective.
  /// - Throws: `SpeedTestError` when the test cannot run; `CancellationError`.
  static func run(_ objective: QoSObjective, _ context: QoSContext) async throws -> QoSResult
}

extension QoSObjective {
  /// The time between two datagrams, 1 ms to 10 s.
  func interval(default standard: Duration) -> Duration {
    guard let number = number("delay"), number > 0 else { return standard }
    return min(max(.nanoseconds(number), .milliseconds(1)), .seconds(10))
  }
}

/// The surroundings that all tests share.
struct QoSContext: Sendable {
  /// The identifier of the measurement, 36 characters.
  let uuid: String
  let servers: QTPServers
  let outgoing: OutgoingHTTPClient

  /// Returns the connection to the QoS server of an objective.
  func server(_ objective: QoSObjective) async throws -> QTPClient {
    guard let host = objective["server_addr"], let port = try objective.port("server_port") else {
      throw SpeedTestError(.invalidReply, "the objective names no QoS server")
    }
    return try await servers.connection(to: host, port)
  }
}

/// The connections to QoS servers: one for each server.
actor QTPServers {
  private let token: String
  private let security: QoSSecurity
  private var connections: [String: Task<QTPClient, any Error>] = [:]

  init(token: String, security: QoSSecurity) {
    self.token = token
    self.security = security
  }

  func connection(to host: String, _ port: Int) async throws -> QTPClient {
    let key = "\(host) \(port)"
    if let known = connections[key] { return try await known.value }
    let task = Task { [token, security] in
      try await QTPClient.connect(host, port, token: token, security)
    }
    connections[key] = task
    return try await task.value
  }

  func close() async {
    for task in connections.values {
      task.cancel()
      // A connection that failed is none to close.
      if let client = try? await task.value { client.close() }
    }
    connections = [:]
  }
}

/// The outcome of a part of a test, as the protocol names it.
enum QoSOutcome: Sendable, Hashable {
  case passed
  case timedOut
  case failed(String)

  /// Runs a part, whose failure is an outcome.
  static func of(_ body: () throws -> QoSOutcome) rethrows -> QoSOutcome {
    do {
      return try body()
    } catch QoSSocket.Failure.timedOut {
      return .timedOut
    } catch QoSSocket.Failure.refused(let reason) {
      return .failed(reason)
    }
  }

  /// The value that results have.
  var value: JSONValue {
    switch self {
    case .passed: "OK"
    case .timedOut: "TIMEOUT"
    case .failed: "ERROR"
    }
  }

  /// The reason of a failure.
  var reason: String? {
    switch self {
    case .passed: nil
    case .timedOut: "no answer in time"
    case .failed(let reason): reason
    }
  }
}

extension QoSVerdict {
  /// Creates the verdict on the parts of a test, by their names.
  init(_ parts: KeyValuePairs<String, QoSOutcome?>) {
    let reasons = parts.compactMap { name, outcome in
      outcome?.reason.map { name.isEmpty ? $0 : "\(name): \($0)" }
    }
    self = reasons.isEmpty ? .passed : .failed(reasons.joined(separator: "; "))
  }
}
