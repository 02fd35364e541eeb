import Streams
import Timing

/// The end of a v2 mux at the central: sends concurrent requests and delivers their replies as they arrive.
actor MuxClient {
  /// The events of one request.
  private enum Event {
    case text([UInt8])
    /// The phone has reported the number of requests ahead; ``progress`` has the newest one.
    case progress
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

  /// The error of a reply whose parts are not valid.
  struct BadParts: Error {}

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
  /// The numbers of requests ahead that were received and not delivered yet, by stream.
  private var progress: [UInt32: Int] = [:]
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

  /// A Boolean value that indicates whether the phone accepts forms, and so everything that a request may have.
  var takesForms: Bool { machine.takesForms }

  /// Sends a request and returns its reply; cancelling the task cancels the request at the phone.
  ///
  /// Details are sent to a phone that accepts forms, and to no other.
  /// - Parameter onPart: Receives the parts of the reply as they arrive; the phone waits while it runs.
  /// - Throws: ``Closed``; ``ReplyTooLong``; ``BadParts``; `CancellationError`.
  func exchange(
    _ request: InferenceRequest, onPart: @Sendable (ReplyPart) async -> Void = { _ in }
  ) async throws -> Reply {
    try Task.checkCancellation()
    if case .closed(let reason) = state { throw Closed(description: reason) }
    let isForm = takesForms && !request.details.fields.isEmpty
    let sent = isForm ? RequestForm.encoded(request) : Array(request.prompt.utf8)
    guard let stream = machine.open(sent, isForm: isForm, maxTokens: request.maxTokens) else {
      throw Closed(description: "the mux is not ready")
    }
    // The phone may send one window without credit, and one progress waits at a time, so this overflows only for a phone that violates the protocol.
    let (events, source) = BoundedStream.make(of: Event.self, limit: window + 3, policy: .dropNewest)
    calls[stream] = source
    wake.signal()
    defer {
      // Has no effect once the reply is complete.
      calls[stream] = nil
      progress[stream] = nil
      machine.cancel(stream)
      wake.signal()
    }
    var reader = MuxReplyReader(isForm: isForm, limit: replyLimit)
    // A phone that accepts forms names what it ignores; another one has not been asked.
    var ignored = isForm ? [] : Set<RequestField>().ignored(of: request.details)
    for await event in events {
      switch event {
      case .text(let bytes):
        if !ignored.isEmpty { await onPart(.ignored(ignored)) }
        ignored = []
        for part in try reader.read(bytes) { await onPart(part) }
        machine.consumed(stream, bytes.count)
        wake.signal()
      case .progress:
        guard let ahead = progress.removeValue(forKey: stream) else { continue }
        await onPart(ahead == 0 ? .thinking("") : .waiting(ahead: ahead))
      case .finished(let ending): return try reader.reply(ending)
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
      case .progress(let stream, let ahead):
        guard let call = calls[stream] else { continue }
        if progress.updateValue(ahead, forKey: stream) == nil { call.yield(.progress) }
      case .finished(let stream, let ending):
        calls[stream]?.yield(.finished(ending))
        calls[stream]?.finish()
      }
    }
  }
}

/// A reader of one reply over a v2 mux: plain text, or the parts of the reply to a form.
private struct MuxReplyReader {
  private let limit: Int
  private var parts: ReplyPartReader?
  private var decoder = UTF8Decoder()
  private var text = ""
  private var length = 0

  init(isForm: Bool, limit: Int) {
    parts = isForm ? ReplyPartReader() : nil
    self.limit = limit
  }

  mutating func read(_ bytes: [UInt8]) throws -> [ReplyPart] {
    guard parts != nil else {
      try count(bytes.count)
      let piece = decoder.decode(bytes)
      text += piece
      return [.text(piece)]
    }
    guard let read = parts?.read(bytes) else { throw MuxClient.BadParts() }
    for part in read {
      switch part {
      case .text(let piece):
        try count(piece.utf8.count)
        text += piece
      case .thinking(let piece): try count(piece.utf8.count)
      case .waiting: break
      case .toolCall(let call): try count(call.name.utf8.count + call.arguments.utf8.count)
      case .ignored(let fields): try count(fields.count)
      }
    }
    // The names of the members, and what a call has beside its arguments.
    guard parts?.unread ?? 0 <= limit + 1024 else { throw MuxClient.ReplyTooLong(limit: limit) }
    return read
  }

  /// Counts a part without the JSON around it, which the phone does not count either.
  private mutating func count(_ bytes: Int) throws {
    // A part without text is not free, so that a phone cannot send them without end.
    length += max(1, bytes)
    guard length <= limit else { throw MuxClient.ReplyTooLong(limit: limit) }
  }

  /// Returns the whole reply after its end.
  mutating func reply(_ ending: MuxEnding) throws -> MuxClient.Reply {
    if ending.refusal == nil, parts?.unread ?? 0 > 0 { throw MuxClient.BadParts() }
    let answer = ending.refusal.map(Answer.refusal) ?? .text(text + decoder.finish())
    return MuxClient.Reply(answer: answer, durationMs: ending.durationMs, completion: ending.completion)
  }
}
