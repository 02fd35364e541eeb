internal import ErrorReporting
internal import Streams
internal import Timing

/// What a run has begun and must end: requests, sockets, a timer and the sending of stored sessions.
final class RunWork: Sendable {
  private struct State {
    var preparation: Task<Void, Never>?
    var resending: Task<Void, Never>?
    var alarm: (instant: Duration, task: Task<Void, Never>)?
    var socket: (generation: Int, socket: PingSocket)?
    /// The generation that a socket is being connected for.
    var wanted: Int?
    var isOver = false
  }

  /// The instant of the clock at which the run has begun.
  let start: Duration
  private let inbox: RunInbox
  private let transport: any CoverageTransport
  private let clock: TimeSource
  private let interface: String?
  private let state = Lock(State())

  init(
    inbox: RunInbox, transport: any CoverageTransport, clock: TimeSource, start: Duration, interface: String?
  ) {
    self.inbox = inbox
    self.transport = transport
    self.clock = clock
    self.start = start
    self.interface = interface
  }

  private static func words(_ error: any Error) -> String { (error as? CoverageError)?.message ?? error.safeText }

  // MARK: Sessions

  func prepare(_ generation: Int, loop: String?) {
    let task = Task { [inbox, transport] in
      do {
        let grant = try await transport.requestSession(loop: loop, unixMs: WallClock.unixMilliseconds())
        inbox.put(.ping(.prepared(generation: generation, grant)))
      } catch {
        if !(error is CancellationError) { inbox.put(.problem(Self.words(error))) }
        inbox.put(.ping(.preparationFailed(generation: generation)))
      }
    }
    state.withLock { $0.preparation = task }
  }

  func abandonPreparation() { state.withLock { $0.preparation }?.cancel() }

  /// Sends stored sessions, unless that is under way.
  func resend(_ sender: CoverageSender) {
    state.withLock { state in
      guard state.resending == nil, !state.isOver else { return }
      state.resending = Task { [inbox, self] in
        do {
          _ = try await sender.sendFinished()
        } catch {
          // Another program sends them, or this one ends.
          let isUsual = error is CancellationError || (error as? CoverageError)?.code == .busy
          if !isUsual { inbox.put(.problem(Self.words(error))) }
        }
        self.state.withLock { $0.resending = nil }
      }
    }
  }

  // MARK: Sockets

  func connect(to target: PingTarget, _ generation: Int) {
    state.withLock { $0.wanted = generation }
    Task { [inbox, clock, interface, start] in
      do {
        let socket = try await PingSocket.connect(to: target, interface: interface, clock: clock) { arrival in
          switch arrival {
          case .datagram(let bytes, let instant):
            guard let reply = PingPacket.Reply(bytes) else { return }
            inbox.put(.ping(.received(generation: generation, reply, at: instant - start)))
          case .failure: inbox.put(.ping(.receiveFailed(generation: generation)))
          }
        }
        inbox.put(.connected(generation: generation, socket))
      } catch {
        inbox.put(.problem(Self.words(error)))
        inbox.put(.ping(.activationFailed(generation: generation)))
      }
    }
  }

  /// Takes a connected socket, and closes it if it is not wanted any more.
  func adopt(_ socket: PingSocket, _ generation: Int) {
    let isWanted = state.withLock { state in
      guard state.wanted == generation, !state.isOver else { return false }
      state.wanted = nil
      state.socket = (generation, socket)
      return true
    }
    if !isWanted { socket.close() }
  }

  func close(_ generation: Int) {
    let socket = state.withLock { state -> PingSocket? in
      if state.wanted == generation { state.wanted = nil }
      guard state.socket?.generation == generation else { return nil }
      defer { state.socket = nil }
      return state.socket?.socket
    }
    socket?.close()
  }

  /// Sends a datagram over the socket.
  /// - Returns: The instant of the run at which it was sent; `nil` if it was not.
  func send(_ bytes: [UInt8]) -> Duration? {
    state.withLock { $0.socket?.socket }?.send(bytes).map { $0 - start }
  }

  // MARK: Time and end

  /// Wakes the run at an instant.
  func wake(at instant: Duration) {
    state.withLock { state in
      if let alarm = state.alarm, alarm.instant == instant { return }
      state.alarm?.task.cancel()
      let task = Task { [clock, inbox, start, self] in
        // Cancelled when another instant comes first.
        guard (try? await clock.sleep(until: start + instant)) != nil else { return }
        self.state.withLock { if $0.alarm?.instant == instant { $0.alarm = nil } }
        inbox.wake.signal()
      }
      state.alarm = (instant, task)
    }
  }

  /// Ends everything, and waits for it; a name that is being resolved is left to its thread.
  func end() async {
    let (tasks, socket) = state.withLock { state in
      state.isOver = true
      defer { state.socket = nil }
      return ([state.preparation, state.resending, state.alarm?.task], state.socket?.socket)
    }
    inbox.end()
    socket?.close()
    for task in tasks {
      task?.cancel()
      await task?.value
    }
  }
}
