import Streams
import Timing

/// A v2 link over a GATT characteristic: frames are cut into values that fit the MTU.
final class GATTLinkChannel: LinkChannel {
  /// What carries the values.
  struct Bearer: Sendable {
    /// The longest value now, in bytes.
    var valueLimit: @Sendable () -> Int
    /// Hands a value to bluetoothd.
    var send: @Sendable ([UInt8]) async throws -> Void
    /// Called once, when the channel has ended.
    var end: @Sendable () -> Void
  }

  private struct State {
    var flow: LinkValueFlow
    var frames: [[UInt8]] = []
    var failure: MalformedFrame?
    var hasEnded = false
    var isClosing = false
  }

  let peer: PeerID
  /// The number the central gave the link.
  let link: UInt16
  let sendLimit = LinkFrame.longest
  let receiveLimit = LinkFrame.longest
  private let bearer: Bearer
  private let time: TimeSource
  private let turn = Gate()
  private let credited = Wake()
  private let (values, feed) = BoundedStream.make(
    of: LinkValue.self, limit: LinkValueFlow.window, policy: .dropNewest)
  private let state: Lock<State>

  /// How long the other side may take no value.
  private static let patience = Duration.seconds(30)

  init(link: UInt16, peer: PeerID, time: TimeSource = .continuous, bearer: Bearer) {
    (self.link, self.peer, self.time, self.bearer) = (link, peer, time, bearer)
    state = Lock(State(flow: LinkValueFlow(link: link, frameLimit: LinkFrame.longest)))
  }

  deinit { end() }

  // MARK: LinkChannel

  func send(_ frame: [UInt8]) async throws {
    try await turn.pass {
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

  private func next(limit: Int) throws -> LinkValue? {
    try state.withLock { state in
      guard !state.hasEnded else { throw MalformedFrame(description: "the link is over") }
      return state.flow.next(limit: limit)
    }
  }

  private func waitForCredit() async throws {
    let credited = credited
    try await time.withLimit(
      Self.patience, orThrow: MalformedFrame(description: "the other side took nothing for 30 s")
    ) {
      for await _ in credited.calls { return }
      throw CancellationError()
    }
  }

  func receive() async throws -> [UInt8]? {
    while true {
      if let frame = state.withLock({ $0.frames.isEmpty ? nil : $0.frames.removeFirst() }) { return frame }
      var waiting = values.makeAsyncIterator()
      guard let value = await waiting.next() else {
        try Task.checkCancellation()
        if let failure = state.withLock({ $0.failure }) { throw failure }
        return nil
      }
      let credit = try state.withLock { state in
        state.frames += try state.flow.take(value)
        return state.flow.creditDue()
      }
      if let credit { try await bearer.send(credit.encoded) }
    }
  }

  func close() async {
    let tells = state.withLock { state in
      defer { state.isClosing = true }
      return !state.hasEnded && !state.isClosing
    }
    if tells {
      do {
        try await bearer.send(LinkValue(link: link, kind: .close).encoded)
      } catch {
        // The bearer is gone, and the other side notices that as well.
      }
    }
    end()
  }

  // MARK: From the bearer

  /// A value of this link came.
  func deliver(_ value: LinkValue) {
    switch value.kind {
    case .piece, .last:
      if !feed.yield(value) { fail(MalformedFrame(description: "more values than there was credit for")) }
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

  /// The other side does not keep to the protocol; the reader is told, and then it can still be told itself.
  private func fail(_ failure: MalformedFrame) {
    state.withLock { $0.failure = $0.failure ?? failure }
    feed.finish()
  }

  /// The bearer is gone, or the link is over.
  func end() {
    let isFirst = state.withLock { state in
      defer { state.hasEnded = true }
      return !state.hasEnded
    }
    guard isFirst else { return }
    feed.finish()
    credited.signal()
    bearer.end()
  }
}
