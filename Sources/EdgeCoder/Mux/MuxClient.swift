import Streams
import Timing

/// The end of a v2 mux at the central: sends concurrent requests and delivers their replies as they arrive.
actor MuxClient {
  /// The events of one request.
  private enum Event {
    case text([UInt8])
    case finished(MuxEnding)
    case closed(String)
  }

  /// A complete reply.
  struct Reply: Sendable, Equatable {
    var answer: Answer
    var durationMs: Int
    /// The end as the engine reports it; `nil` if the phone does not pass it on.
    var completion: Completion?
  }

  /// The error of a request whose mux has closed, with the reason for display.
  struct Closed: Error, CustomStringConvertible { let description: String }

  /// The error of a request whose reply exceeds the limit.
  struct ReplyTooLong: Error { let limit: Int }

  private enum State {
    case starting([CheckedContinuation<Void, any Error>])
    case ready
    case closed(String)
  }

  private let channel: any MuxChannel
  private let time: TimeSource
  private let replyLimit: Int
  private let window: Int
  private var machine: MuxClientMachine
  private let wake = WakeSignal()
  private var calls: [UInt32: BoundedStream<Event>.Source] = [:]
  private var state = State.starting([])

  /// - Parameters:
  ///   - channel: A channel that was just opened.
  ///   - deflates: A Boolean value that indicates whether compression is offered.
  ///   - replyLimit: The limit on a reply, in bytes.
  ///   - time: The monotonic clock.
  init(_ channel: any MuxChannel, deflates: Bool, replyLimit: Int, time: TimeSource) {
    self.channel = channel
    self.time = time
    self.replyLimit = replyLimit
    let terms = channel.terms(inflates: deflates)
    window = Int(terms.window)
    machine = MuxClientMachine(terms: terms, bearerLimit: channel.sendLimit)
  }

  /// Serves the mux until it closes, also because the phone does not answer.
  /// - Returns: The reason, for display.
  func run() async -> String {
    wake.signal()
    let reason = await channel.pump(wake, time, hasGreeted: { await self.isReady }) {
      await self.next()
    } receive: { frame in
      try await self.receive(frame)
    }
    let waiting = waiters
    state = .closed(reason)
    for call in calls.values {
      call.yield(.closed(reason))
      call.finish()
    }
    calls = [:]
    for waiter in waiting { waiter.resume(throwing: Closed(description: reason)) }
    return reason
  }

  private var isReady: Bool { if case .ready = state { true } else { false } }

  private var waiters: [CheckedContinuation<Void, any Error>] {
    if case .starting(let waiters) = state { waiters } else { [] }
  }

  /// Waits until the phone accepts requests.
  /// - Throws: ``Closed`` when the mux closes before.
  func waitUntilReady() async throws {
    switch state {
    case .ready: return
    case .closed(let reason): throw Closed(description: reason)
    case .starting: try await withCheckedThrowingContinuation { state = .starting(waiters + [$0]) }
    }
  }

  /// Sends a request and returns its reply; cancelling the task cancels the request at the phone.
  /// - Parameter onText: Receives the text of the reply as it arrives; the phone waits while it runs.
  /// - Throws: ``Closed``; ``ReplyTooLong``; `CancellationError`.
  func exchange(
    prompt: String, maxTokens: Int?, onText: @Sendable (String) async -> Void = { _ in }
  ) async throws -> Reply {
    try Task.checkCancellation()
    if case .closed(let reason) = state { throw Closed(description: reason) }
    guard let stream = machine.open(prompt: prompt, maxTokens: maxTokens) else {
      throw Closed(description: "the mux is not ready")
    }
    // The phone may send one window without credit, so this overflows only for a phone that violates the protocol.
    let (events, source) = BoundedStream.make(of: Event.self, limit: window + 2, policy: .dropNewest)
    calls[stream] = source
    wake.signal()
    defer {
      // Has no effect once the reply is complete.
      calls[stream] = nil
      machine.cancel(stream)
      wake.signal()
    }
    var text = ""
    var decoder = UTF8Decoder()
    var length = 0
    for await event in events {
      switch event {
      case .text(let bytes):
        length += bytes.count
        guard length <= replyLimit else { throw ReplyTooLong(limit: replyLimit) }
        let piece = decoder.decode(bytes)
        text += piece
        await onText(piece)
        machine.consumed(stream, bytes.count)
        wake.signal()
      case .finished(let ending):
        let answer = ending.refusal.map(Answer.refusal) ?? .text(text + decoder.finish())
        return Reply(answer: answer, durationMs: ending.durationMs, completion: ending.completion)
      case .closed(let reason): throw Closed(description: reason)
      }
    }
    throw CancellationError()
  }

  private func next() -> [UInt8]? { machine.next() }

  private func receive(_ frame: MuxFrame) throws {
    let actions = try machine.handle(frame)
    // The frame may have been credit.
    wake.signal()
    for action in actions {
      switch action {
      case .ready:
        let waiting = waiters
        state = .ready
        for waiter in waiting { waiter.resume() }
      case .text(let stream, let text): calls[stream]?.yield(.text(text))
      case .progress: break
      case .finished(let stream, let ending):
        calls[stream]?.yield(.finished(ending))
        calls[stream]?.finish()
      }
    }
  }
}
