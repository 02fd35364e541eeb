internal import Timing

/// The state machine of a server's connection: greeting or HTTP upgrade, token, and one command after another.
///
/// Bytes and timers go in, lines to send and requests to the owner come out. The machine tolerates clients that send a
/// command before the last one has ended.
package struct ServerConnection: Sendable {
  /// The instruction to the owner of the socket.
  package enum Action: Sendable, Hashable {
    /// Send these bytes.
    case send(String)
    /// Send payload for as long as ``ServerConnection/nextPayload(at:)`` returns some.
    case startPayload
    /// Verify the token and report the verdict by ``ServerConnection/tokenVerified(_:at:)``.
    case verify(String)
    /// Close the connection after what is to be sent.
    case close
  }

  /// The longest durations of the parts of a connection.
  package struct Limits: Sendable, Hashable {
    /// The time in which a client that speaks HTTP shows it; then the server speaks first.
    package var decision = Duration.milliseconds(300)
    /// The time for the HTTP header and for the token, each.
    package var opening = Duration.seconds(10)
    /// The time to the next command, and to a confirmation.
    package var idle = Duration.seconds(30)
    /// The time that a transfer may take beyond its duration, and that of one without a duration.
    package var transfer = Duration.seconds(60)

    /// Creates the standard limits.
    package init() {}
  }

  enum State: Sendable {
    case deciding
    case header(HTTPUpgrade)
    case token
    case verifying
    case delayed
    case idle
    case sending(SendingChunks)
    case confirming(since: Duration)
    case receiving(ReceivingChunks)
    case ponged(since: Duration)
    case closed
  }

  private let limits: Limits
  private var state = State.deciding
  private var lines = LineReader()
  private var size = RMBT.defaultChunkSize
  /// Bytes of a client that does not wait for the end of a command.
  private var early: [UInt8] = []
  /// The instant at which ``timeOut(at:)`` must be called; `nil` when nothing is waited for.
  package private(set) var deadline: Duration?

  /// The largest number of bytes that may arrive before the command in progress has ended.
  static let earlyLimit = 4096

  /// Creates a machine for a connection that has just been accepted.
  package init(limits: Limits = Limits(), at now: Duration) {
    self.limits = limits
    deadline = now + limits.decision
  }

  // MARK: Events

  /// Accepts bytes of the client.
  /// - Parameter isWritable: `false` while earlier output waits; reports are left out then.
  package mutating func receive(
    _ bytes: UnsafeRawBufferPointer, at now: Duration, isWritable: Bool = true
  ) -> [Action] {
    var actions: [Action] = []
    do {
      if case .deciding = state { actions += decide(bytes.first, at: now) }
      var offset = 0
      while offset < bytes.count {
        actions += try consume(bytes, &offset, at: now, isWritable)
      }
    } catch {
      actions += refuseAndClose()
    }
    return actions
  }

  /// Reports the verdict on a token.
  package mutating func tokenVerified(_ verdict: TokenVerdict, at now: Duration) -> [Action] {
    guard case .verifying = state else { return [] }
    switch verdict {
    case .rejected: return refuseAndClose()
    case .accepted(let delay) where delay > .zero:
      state = .delayed
      deadline = now + delay
      return []
    case .accepted: return admit(at: now)
    }
  }

  /// Acts on the passed deadline.
  package mutating func timeOut(at now: Duration) -> [Action] {
    guard let deadline, deadline <= now else { return [] }
    switch state {
    case .deciding: return greet(at: now)
    case .delayed: return admit(at: now) + resume(at: now)
    default:
      close()
      return [.close]
    }
  }

  /// A Boolean value that indicates whether payload is to be sent.
  package var hasPayload: Bool {
    if case .sending = state { true } else { false }
  }

  /// Returns the payload to send next; `nil` when there is none.
  package mutating func nextPayload(at now: Duration) -> Payload? {
    guard case .sending(var sending) = state else { return nil }
    let payload = sending.next(at: now)
    if payload.endsWithLast {
      state = .confirming(since: sending.start)
      deadline = now + limits.transfer
    } else {
      state = .sending(sending)
    }
    return payload
  }

  /// Accepts what arrived while payload was sent; to be called when the last payload has been handed over.
  package mutating func resume(at now: Duration) -> [Action] {
    guard !early.isEmpty else { return [] }
    let bytes = early
    early = []
    return bytes.withUnsafeBytes { receive($0, at: now) }
  }

  /// A Boolean value that indicates whether a command is in progress or possible.
  package var isAuthorised: Bool {
    switch state {
    case .deciding, .header, .token, .verifying, .delayed, .closed: false
    default: true
    }
  }

  // MARK: Bytes

  private mutating func decide(_ first: UInt8?, at now: Duration) -> [Action] {
    // RMBT commands a client may open with are TOKEN and QUIT; HTTP methods are GET, POST, HEAD, …
    guard let first, first != UInt8(ascii: "T"), first != UInt8(ascii: "Q") else { return greet(at: now) }
    state = .header(HTTPUpgrade())
    deadline = now + limits.opening
    return []
  }

  private mutating func greet(at now: Duration) -> [Action] {
    state = .token
    deadline = now + limits.opening
    return [.send("RMBTv\(RMBT.version)\n\(RMBT.acceptToken)\n")]
  }

  private mutating func admit(at now: Duration) -> [Action] {
    state = .idle
    deadline = now + limits.idle
    let sizes = RMBT.chunkSizes
    let chunkSize = "CHUNKSIZE \(RMBT.defaultChunkSize) \(sizes.lowerBound) \(sizes.upperBound)"
    return [.send("OK\n\(chunkSize)\n\(RMBT.acceptCommands)\n")]
  }

  private mutating func consume(
    _ bytes: UnsafeRawBufferPointer, _ offset: inout Int, at now: Duration, _ isWritable: Bool
  ) throws(SpeedTestError) -> [Action] {
    switch state {
    case .closed:
      offset = bytes.count
      return []
    case .sending, .verifying, .delayed:
      early += bytes[offset...]
      offset = bytes.count
      guard early.count <= Self.earlyLimit else {
        throw SpeedTestError(.invalidReply, "the client sends before the command has ended")
      }
      return []
    case .header(var upgrade):
      guard let outcome = try upgrade.receive(bytes, &offset) else {
        state = .header(upgrade)
        return []
      }
      return upgraded(outcome, at: now)
    case .receiving(var receiving):
      let (text, isLast) = try receiving.receive(bytes, &offset, at: now, isWritable)
      state = .receiving(receiving)
      return (text.isEmpty ? [] : [.send(text)]) + (isLast ? ended(at: now) : [])
    case .deciding, .token, .idle, .confirming, .ponged:
      guard let line = try lines.next(bytes, &offset) else { return [] }
      return try receive(line, at: now)
    }
  }

  private mutating func upgraded(_ outcome: HTTPUpgrade.Outcome, at now: Duration) -> [Action] {
    if outcome == .upgrade { return [.send(outcome.response)] + greet(at: now) }
    close()
    return [.send(outcome.response), .close]
  }

  // MARK: Lines

  private mutating func receive(_ text: String, at now: Duration) throws(SpeedTestError) -> [Action] {
    let line = ClientLine(text)
    switch (state, line) {
    // One client sends an empty line behind its HTTP header.
    case (.token, nil) where text.isEmpty: return []
    case (.token, .token(let token)):
      state = .verifying
      deadline = now + limits.opening
      return [.verify(token)]
    case (.token, .quit), (.idle, .quit):
      close()
      return [.send("BYE\n"), .close]
    case (.token, _): return refuseAndClose()
    case (.idle, .some(let command)): return start(command, at: now)
    case (.idle, nil): return refuse(at: now)
    case (.confirming(let since), .ok), (.ponged(let since), .ok):
      return [.send("TIME \((now - since).wholeNanoseconds)\n")] + ended(at: now)
    case (.confirming, _), (.ponged, _): return refuse(at: now)
    default: throw SpeedTestError(.invalidReply, "a line is not allowed here")
    }
  }

  private mutating func start(_ command: ClientLine, at now: Duration) -> [Action] {
    func sending(_ end: SendingChunks.End, _ limit: Duration) -> [Action] {
      state = .sending(SendingChunks(size: size, end: end, start: now))
      deadline = now + limit
      return [.startPayload]
    }
    switch command {
    case .getChunks(let count, let size):
      self.size = size ?? self.size
      return sending(.afterChunks(count), limits.transfer)
    case .getTime(let seconds, let size):
      self.size = size ?? self.size
      return sending(.after(.seconds(seconds)), limits.transfer + .seconds(seconds))
    case .put(let size), .putNoResult(let size):
      self.size = size ?? self.size
      var reports = false
      if case .put = command { reports = true }
      state = .receiving(ReceivingChunks(size: self.size, reports: reports, start: now))
      deadline = now + limits.transfer
      return [.send("OK\n")]
    case .ping:
      state = .ponged(since: now)
      deadline = now + limits.idle
      return [.send("PONG\n")]
    case .token, .ok, .quit: return refuse(at: now)
    }
  }

  private mutating func ended(at now: Duration) -> [Action] {
    state = .idle
    deadline = now + limits.idle
    return [.send(RMBT.acceptCommands + "\n")]
  }

  private mutating func refuse(at now: Duration) -> [Action] { [.send("ERR\n")] + ended(at: now) }

  private mutating func refuseAndClose() -> [Action] {
    close()
    return [.send("ERR\n"), .close]
  }

  private mutating func close() {
    state = .closed
    deadline = nil
  }
}

/// The verdict on a client's token.
package enum TokenVerdict: Sendable, Hashable {
  /// The token is valid; a token for later must wait until then.
  case accepted(delay: Duration)
  /// The token is not valid.
  case rejected
}
