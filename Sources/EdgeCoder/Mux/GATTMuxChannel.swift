internal import Streams
package import Timing

/// A v2 mux channel over a GATT characteristic: frames are split into values that fit the MTU.
package final class GATTMuxChannel: MuxChannel {
  /// The operations of the bearer below the channel.
  package struct Bearer: Sendable {
    var valueLimit: @Sendable () -> Int
    var send: @Sendable ([UInt8]) async throws -> Void
    var onClose: @Sendable () -> Void

    /// Creates a bearer from its operations.
    /// - Parameters:
    ///   - valueLimit: Returns the present limit on one value, in bytes.
    ///   - send: Passes a value to bluetoothd.
    ///   - onClose: Called once, when the channel has closed.
    package init(
      valueLimit: @Sendable @escaping () -> Int, send: @Sendable @escaping ([UInt8]) async throws -> Void,
      onClose: @Sendable @escaping () -> Void
    ) {
      self.valueLimit = valueLimit
      self.send = send
      self.onClose = onClose
    }
  }

  private struct State {
    enum Phase { case open, closing, closed }

    var flow: MuxValueFlow
    var frames: [[UInt8]] = []
    var failure: MalformedFrame?
    var phase = Phase.open
  }

  package let peer: PeerID
  /// The number that the central chose for the mux.
  package let mux: UInt16
  package let sendLimit = MuxFrame.longest
  package let receiveLimit = MuxFrame.longest
  private let bearer: Bearer
  private let time: TimeSource
  private let sending = AsyncMutex()
  private let credited = WakeSignal()
  private let (values, source) = BoundedStream.make(
    of: MuxValue.self, limit: MuxValueFlow.window, policy: .dropNewest)
  private let state: Lock<State>

  /// The longest time without credit from the peer.
  private static let creditTimeout = Duration.seconds(30)
  /// The longest time between two values of one frame.
  private static let valueTimeout = Duration.seconds(30)

  package init(mux: UInt16, peer: PeerID, time: TimeSource = .continuous, bearer: Bearer) {
    self.mux = mux
    self.peer = peer
    self.time = time
    self.bearer = bearer
    state = Lock(State(flow: MuxValueFlow(mux: mux, frameLimit: MuxFrame.longest)))
  }

  deinit { end() }

  // MARK: MuxChannel

  package func send(_ frame: [UInt8]) async throws {
    try await sending.withLock {
      state.withLock { $0.flow.send(frame) }
      while !state.withLock({ $0.flow.isSpent }) {
        if let value = try next(limit: bearer.valueLimit()) {
          try await bearer.send(value.encoded)
        } else {
          try await waitForCredit()
        }
      }
    }
  }

  private func next(limit: Int) throws -> MuxValue? {
    try state.withLock { state in
      guard state.phase != .closed else { throw MalformedFrame(description: "the mux is closed") }
      return state.flow.next(limit: limit)
    }
  }

  private func waitForCredit() async throws {
    let credited = credited
    try await time.withLimit(
      Self.creditTimeout, orThrow: MalformedFrame(description: "the peer sent no credit for 30 s")
    ) {
      for await _ in credited.signals { return }
      throw CancellationError()
    }
  }

  package func receive() async throws -> [UInt8]? {
    while true {
      if let frame = state.withLock({ $0.frames.isEmpty ? nil : $0.frames.removeFirst() }) { return frame }
      guard let value = try await nextValue() else {
        try Task.checkCancellation()
        if let failure = state.withLock({ $0.failure }) { throw failure }
        return nil
      }
      let credit = try state.withLock { state in
        state.frames += try state.flow.receive(value)
        return state.flow.creditDue()
      }
      if let credit { try await bearer.send(credit.encoded) }
    }
  }

  /// Returns the next value; `nil` when there are no more.
  /// - Throws: ``MalformedFrame`` when a frame that has begun does not go on; it would stay in memory.
  private func nextValue() async throws -> MuxValue? {
    let values = values
    @Sendable func next() async -> MuxValue? {
      var waiting = values.makeAsyncIterator()
      return await waiting.next()
    }
    guard state.withLock({ $0.flow.isUnfinished }) else { return await next() }
    let late = MalformedFrame(description: "the rest of a frame did not arrive within 30 s")
    return try await time.withLimit(Self.valueTimeout, orThrow: late) { await next() }
  }

  package func close() async {
    let isFirst = state.withLock { state in
      guard state.phase == .open else { return false }
      state.phase = .closing
      return true
    }
    if isFirst {
      do {
        try await bearer.send(MuxValue(mux: mux, kind: .close).encoded)
      } catch {
        // The bearer is gone, which the peer notices as well.
      }
    }
    end()
  }

  // MARK: Called by the bearer

  /// Receives a value of this mux from the bearer.
  package func deliver(_ value: MuxValue) {
    switch value.kind {
    case .piece, .last:
      if !source.yield(value) { fail(MalformedFrame(description: "more values than credit")) }
    case .credit:
      do throws(MalformedFrame) {
        try state.withLock { state throws(MalformedFrame) in try state.flow.grant(value.number) }
        credited.signal()
      } catch {
        fail(error)
      }
    case .close: end()
    }
  }

  /// Reports a violation of the protocol to the reader, which can still send FAIL.
  private func fail(_ failure: MalformedFrame) {
    state.withLock { $0.failure = $0.failure ?? failure }
    source.finish()
  }

  /// Closes the channel without a message, because the bearer or the mux has ended.
  package func end() {
    let isFirst = state.withLock { state in
      defer { state.phase = .closed }
      return state.phase != .closed
    }
    guard isFirst else { return }
    source.finish()
    credited.signal()
    bearer.onClose()
  }
}
