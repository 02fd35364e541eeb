internal import Timing

/// The state machine of a server's connection: greeting or HTTP upgrade, token, and one command after another.
///
/// After the upgrade of a browser everything is in frames of a WebSocket: the machine takes them off what arrives, and the
/// owner of the socket puts them around what it sends while ``isFramed``.
///
/// Bytes and timers go in, lines to send and requests to the owner come out. The machine tolerates clients that send a
/// command before the last one has ended.
package struct ServerConnection: Sendable {
  /// The instruction to the owner of the socket.
  package enum Action: Sendable, Hashable {
    /// Send these lines.
    case send(String)
    /// Send this response of HTTP, without frames.
    case respond(String)
    /// Send the answer to the ping of a WebSocket.
    case pong([UInt8])
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
  private let isOpen: Bool
  private var state = State.deciding
  private var lines = LineReader()
  private var frames: WebSocketReader?
  private var size = RMBT.defaultChunkSize
  /// Bytes of a client that does not wait for the end of a command.
  private var early: [UInt8] = []
  /// The instant at which ``timeOut(at:)`` must be called; `nil` when nothing is waited for.
  package private(set) var deadline: Duration?

  /// The largest number of bytes that may arrive before the command in progress has ended.
  static let earlyLimit = 4096

  /// Creates a machine for a connection that has just been accepted.
  /// - Parameters:
  ///   - limits: The longest durations of the parts of the connection.
  ///   - isOpen: `true` if the server admits every client: its page asks for no key, and pages of other servers, which any
  ///     visitor's browser would obey, may not measure.
  ///   - now: The present instant.
  package init(limits: Limits = Limits(), isOpen: Bool = false, at now: Duration) {
    self.limits = limits
    self.isOpen = isOpen
    deadline = now + limits.decision
  }

  // MARK: Events

  /// Accepts bytes of the client.
  /// - Parameter isWritable: `false` while earlier output waits; reports are left out then.
  package mutating func receive(
    _ bytes: UnsafeRawBufferPointer, at now: Duration, isWritable: Bool = true
  ) -> [Action] {
    var actions: [Action] = []
    if case .deciding = state { actions += decide(bytes.first, at: now) }
    var offset = 0
    if !isFramed { actions += accept(bytes, &offset, at: now, isWritable) }
    // The header of an upgrade may be followed by the first frame.
    while offset < bytes.count, isFramed { actions += acceptFrame(bytes, &offset, at: now, isWritable) }
    return actions
  }

  /// The number of bytes that come next and need not be looked at: the payload before the next marker. There is none in
  /// the frames of a WebSocket.
  package var skippable: Int {
    if case .receiving(let receiving) = state, !isFramed { receiving.skippable } else { 0 }
  }

  /// Accepts bytes that were dropped instead of being received, at most ``skippable``.
  /// - Parameter isWritable: `false` while earlier output waits; reports are left out then.
  package mutating func skip(_ count: Int, at now: Duration, isWritable: Bool = true) -> [Action] {
    guard case .receiving(var receiving) = state else { return [] }
    let text = receiving.skip(count, at: now, isWritable)
    state = .receiving(receiving)
    return text.isEmpty ? [] : [.send(text)]
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
    var offset = 0
    return bytes.withUnsafeBytes { accept($0, &offset, at: now, true) }
  }

  /// A Boolean value that indicates whether what is sent must be put into frames of a WebSocket.
  package var isFramed: Bool { frames != nil }

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
    state = .header(HTTPUpgrade(admitsAnyOrigin: !isOpen))
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

  /// Accepts bytes up to their end, or up to the first frame.
  private mutating func accept(
    _ bytes: UnsafeRawBufferPointer, _ offset: inout Int, at now: Duration, _ isWritable: Bool
  ) -> [Action] {
    let wasFramed = isFramed
    var actions: [Action] = []
    do {
      while offset < bytes.count, isFramed == wasFramed {
        actions += try consume(bytes, &offset, at: now, isWritable)
      }
    } catch {
      actions += refuseAndClose()
    }
    return actions
  }

  private mutating func acceptFrame(
    _ bytes: UnsafeRawBufferPointer, _ offset: inout Int, at now: Duration, _ isWritable: Bool
  ) -> [Action] {
    if case .closed = state {
      offset = bytes.count
      return []
    }
    do {
      switch try frames?.next(bytes, &offset) {
      case nil: return []
      case .payload(let payload):
        var read = 0
        return payload.withUnsafeBytes { accept($0, &read, at: now, isWritable) }
      case .ping(let payload): return isWritable ? [.pong(payload)] : []
      case .close:
        close()
        return [.close]
      }
    } catch {
      return refuseAndClose()
    }
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
    let response = Action.respond(outcome.response(needsKey: !isOpen))
    switch outcome {
    case .webSocket:
      frames = WebSocketReader()
      fallthrough
    case .rmbt: return [response] + greet(at: now)
    default:
      close()
      return [response, .close]
    }
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
