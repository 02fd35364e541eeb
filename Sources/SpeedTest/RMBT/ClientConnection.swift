/// The state machine of a client's connection: greeting, token, and one exchange after another.
///
/// Bytes and timers go in, lines to send and events come out. A command is only sent when the server has ended the one
/// before it with ACCEPT, because servers drop what arrives behind a command.
package struct ClientConnection: Sendable {
  /// The instruction to the owner of the socket.
  package enum Action: Sendable, Hashable {
    /// Send these bytes.
    case send(String)
    /// Send payload for as long as ``ClientConnection/nextPayload(at:)`` returns some.
    case startPayload
    /// The connection is authorised and can start an exchange.
    case ready(RMBT.ChunkLimits)
    /// The exchange is over. When its report is not complete, the connection must be closed.
    case finished(ExchangeReport)
  }

  /// The longest durations of the parts of a connection.
  package struct Limits: Sendable, Hashable {
    /// The time to the greeting.
    package var greeting = Duration.seconds(10)
    /// The time to the end of the authorisation; a server delays a token that is up to 20 s early.
    package var authorisation = Duration.seconds(30)
    /// The time of an exchange that has no duration of its own.
    package var step = Duration.seconds(20)
    /// The time that a download may take beyond its duration.
    package var downloadGrace = Duration.seconds(10)
    /// The time that an upload may take beyond its duration.
    package var uploadGrace = Duration.seconds(3)
    /// The part at the end of a direction's duration that samples need not cover.
    package var uncovered = Duration.seconds(1)

    /// Creates the standard limits.
    package init() {}
  }

  enum State: Sendable {
    case upgrading
    case greeting
    case acceptToken
    case authorising
    case chunkSizes
    case firstAccept
    case idle
    case running(RunningExchange)
    case closed
  }

  let token: String
  let limits: Limits
  var state: State
  var lines = LineReader()
  var chunkLimits = RMBT.ChunkLimits()
  /// The instant by which the present step must be over; `nil` between exchanges.
  package internal(set) var deadline: Duration?
  /// The version in the server's greeting.
  package private(set) var serverVersion = ""

  /// Creates a machine for a connection that has just been made.
  /// - Parameters:
  ///   - token: The token to send.
  ///   - upgrades: `true` for a server that expects an HTTP upgrade before its greeting.
  ///   - limits: The longest durations.
  ///   - now: The present instant.
  package init(token: String, upgrades: Bool = false, limits: Limits = Limits(), at now: Duration) {
    self.token = token
    self.limits = limits
    state = upgrades ? .upgrading : .greeting
    deadline = now + limits.greeting
  }

  /// The bytes to send as soon as the connection is made; empty for the variant in which the server speaks first.
  package var opening: String {
    guard case .upgrading = state else { return "" }
    return "GET /rmbt HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: RMBT\r\nRMBT-Version: 1.2.0\r\n\r\n"
  }

  /// Starts an exchange; the connection must be ready or its last exchange finished.
  package mutating func start(_ exchange: Exchange, at now: Duration) throws(SpeedTestError) -> [Action] {
    guard case .idle = state else {
      throw SpeedTestError(.invalidArgument, "\(exchange.name) cannot start: another exchange is under way")
    }
    deadline = now + limit(of: exchange)
    state = .running(RunningExchange(exchange, at: now))
    return [.send(exchange.command.text + "\n")]
  }

  /// Accepts bytes of the server.
  /// - Throws: ``SpeedTestError`` when they violate the protocol; the connection must be closed then.
  package mutating func receive(_ bytes: UnsafeRawBufferPointer, at now: Duration) throws(SpeedTestError) -> [Action] {
    // What arrives after a cut-off belongs to an exchange that is over.
    if case .closed = state { return [] }
    var actions: [Action] = []
    var offset = 0
    while offset < bytes.count {
      if case .running(var exchange) = state, exchange.expectsPayload {
        // Taken out and put back, so that the samples are not copied.
        state = .closed
        actions += try exchange.receivePayload(bytes, &offset, at: now)
        state = .running(exchange)
      } else if let line = try lines.next(bytes, &offset) {
        actions += try receive(line, at: now)
      }
    }
    return actions
  }

  /// The number of bytes that come next and need not be looked at: the payload before the next marker.
  package var skippable: Int {
    if case .running(let exchange) = state { exchange.skippable } else { 0 }
  }

  /// Accepts bytes that were dropped instead of being received, at most ``skippable``.
  package mutating func skip(_ count: Int, at now: Duration) {
    guard case .running(var exchange) = state else { return }
    state = .closed
    exchange.skip(count, at: now)
    state = .running(exchange)
  }

  private mutating func receive(_ line: String, at now: Duration) throws(SpeedTestError) -> [Action] {
    if case .upgrading = state { return try receiveHeader(line) }
    // The blank line that ends an HTTP header may be doubled.
    if case .greeting = state, line.isEmpty { return [] }
    let parsed = try ServerLine(line)
    switch (state, parsed) {
    case (.greeting, .greeting(let version)):
      serverVersion = version
      state = .acceptToken
    case (.acceptToken, .accept):
      state = .authorising
      deadline = now + limits.authorisation
      return [.send(ClientLine.token(token).text + "\n")]
    case (.authorising, .ok): state = .chunkSizes
    case (.authorising, .err): throw SpeedTestError(.refused, "the server does not accept the token")
    case (.chunkSizes, .chunkSizes(let sizes)):
      chunkLimits = sizes
      state = .firstAccept
    case (.firstAccept, .accept):
      state = .idle
      deadline = nil
      return [.ready(chunkLimits)]
    case (.running(var exchange), _):
      state = .closed
      let (actions, report) = try exchange.receive(parsed, line, at: now)
      guard let report else {
        state = .running(exchange)
        return actions
      }
      state = .idle
      deadline = nil
      return actions + [.finished(report)]
    default: throw ServerLine.unexpected(line)
    }
    return []
  }

  private mutating func receiveHeader(_ line: String) throws(SpeedTestError) -> [Action] {
    if line.hasPrefix("HTTP/") {
      guard line.split(separator: " ").dropFirst().first == "101" else {
        throw SpeedTestError(.invalidReply, "the server refused the upgrade: \(line.prefix(60))")
      }
    } else if line.hasPrefix("RMBTv") {
      throw SpeedTestError(.invalidReply, "the server does not use HTTP", hint: "connect without the HTTP upgrade")
    } else if line.isEmpty {
      state = .greeting
    }
    return []
  }

  /// The bytes of the present exchange that the receiving end has confirmed so far.
  package var transferred: UInt64 {
    if case .running(let exchange) = state { exchange.transferred } else { 0 }
  }

  /// A Boolean value that indicates whether an exchange can start.
  package var isIdle: Bool {
    if case .idle = state { true } else { false }
  }

  /// Returns the payload to send next; `nil` when there is none.
  package mutating func nextPayload(at now: Duration) -> Payload? {
    guard case .running(var exchange) = state else { return nil }
    state = .closed
    defer { state = .running(exchange) }
    return exchange.nextPayload(at: now)
  }

  /// Ends the present step when its deadline has passed.
  ///
  /// A direction whose samples cover enough of its duration is cut off; everything else is an error.
  /// - Throws: ``SpeedTestError`` with code `.timedOut`, which names the step.
  package mutating func timeOut(at now: Duration) throws(SpeedTestError) -> [Action] {
    guard let deadline, deadline <= now else { return [] }
    self.deadline = nil
    defer { state = .closed }
    guard case .running(let exchange) = state else { throw timeout(of: step) }
    guard let report = exchange.cutOff(uncovered: limits.uncovered) else {
      throw timeout(of: exchange.description)
    }
    return [.finished(report)]
  }

  /// Returns the error for a connection that the server has closed.
  package var closedError: SpeedTestError {
    if case .authorising = state {
      return SpeedTestError(.refused, "the server closed the connection instead of accepting the token")
    }
    return SpeedTestError(.connectionClosed, "the server closed the connection: \(step)")
  }

  /// The present step for errors.
  var step: String {
    switch state {
    case .upgrading: "upgrade"
    case .greeting, .acceptToken: "greeting"
    case .authorising, .chunkSizes, .firstAccept: "authorisation"
    case .idle: "between two exchanges"
    case .running(let exchange): exchange.description
    case .closed: "after the end"
    }
  }

  private func timeout(of step: String) -> SpeedTestError {
    SpeedTestError(.timedOut, "the server did not finish in time: \(step)")
  }

  private func limit(of exchange: Exchange) -> Duration {
    switch exchange {
    case .getChunks, .putNoResult, .ping: limits.step
    case .getTime(let seconds, _): .seconds(seconds) + limits.downloadGrace
    case .put(let seconds, _): .seconds(seconds) + limits.uploadGrace
    }
  }
}
