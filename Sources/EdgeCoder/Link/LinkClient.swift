import DBus
import Streams
import Timing

/// The central's end of a v2 link: sends requests, several at a time, and hands on their replies as they come.
actor LinkClient {
  /// What comes of one request.
  private enum Event {
    case text([UInt8])
    case ended(LinkStatus, durationMs: Int, reason: String)
    case broken(String)
  }

  /// A reply that came whole.
  struct Reply: Sendable, Equatable {
    var text: String
    var status: LinkStatus
    var durationMs: Int
  }

  /// The link has ended; why, for a person.
  struct Ended: Error, CustomStringConvertible { let description: String }

  private let channel: any LinkChannel
  private let time: TimeSource
  private let replyLimit: Int
  private let window: Int
  private var machine: LinkClientMachine
  private let wake = Wake()
  private var calls: [UInt32: BoundedStream<Event>.Source] = [:]
  private var readers: [CheckedContinuation<Void, any Error>] = []
  private var isReady = false
  private var end: String?

  /// - Parameters:
  ///   - channel: a channel just opened.
  ///   - deflates: whether to offer compression.
  ///   - replyLimit: the longest reply, in bytes.
  ///   - time: the monotonic clock.
  init(_ channel: any LinkChannel, deflates: Bool, replyLimit: Int, time: TimeSource) {
    self.channel = channel
    self.time = time
    self.replyLimit = replyLimit
    let terms = channel.terms(inflates: deflates)
    window = Int(terms.window)
    machine = LinkClientMachine(terms: terms, bearerLimit: channel.sendLimit)
  }

  /// Serves the link until it ends, also because the phone does not answer.
  /// - Returns: why, for a person.
  func run() async -> String {
    wake.signal()
    let reason = await channel.pump(wake, time, hasGreeted: { await self.isReady }) {
      await self.next()
    } take: { frame in
      try await self.take(frame)
    }
    end = reason
    for call in calls.values {
      call.yield(.broken(reason))
      call.finish()
    }
    calls = [:]
    for reader in readers { reader.resume(throwing: Ended(description: reason)) }
    readers = []
    return reason
  }

  /// Returns when the phone has said that it is ready.
  /// - Throws: ``Ended`` when ``run()`` has ended before.
  func waitUntilReady() async throws {
    if isReady { return }
    if let end { throw Ended(description: end) }
    try await withCheckedThrowingContinuation { readers.append($0) }
  }

  /// Sends a request and returns its reply; cancelling the task cancels it at the phone.
  /// - Parameter onText: gets the reply's text as it comes; while it waits, the phone is held up.
  /// - Throws: ``Ended``; ``InferenceError`` for a reply over the limit; `CancellationError`.
  func exchange(
    prompt: String, maxTokens: Int?, onText: @Sendable (String) async -> Void = { _ in }
  ) async throws -> Reply {
    try Task.checkCancellation()
    if let end { throw Ended(description: end) }
    guard let stream = machine.open(prompt: prompt, maxTokens: maxTokens) else {
      throw Ended(description: "the link is not ready")
    }
    // The phone may send one window and then waits, so this never overflows unless it lies.
    let (events, source) = BoundedStream.make(of: Event.self, limit: window + 2, policy: .dropNewest)
    calls[stream] = source
    wake.signal()
    defer {
      // Without effect once the reply is complete.
      calls[stream] = nil
      machine.cancel(stream)
      wake.signal()
    }
    var (text, decoder, length) = ("", UTF8Pieces(), 0)
    for await event in events {
      switch event {
      case .text(let bytes):
        length += bytes.count
        guard length <= replyLimit else {
          throw InferenceError(.badReply, "the reply has more than \(replyLimit) bytes")
        }
        let piece = decoder.take(bytes)
        text += piece
        await onText(piece)
        machine.consumed(stream, bytes.count)
        wake.signal()
      case .ended(.ok, let durationMs, _):
        return Reply(text: text + decoder.rest(), status: .ok, durationMs: durationMs)
      case .ended(let status, let durationMs, let reason):
        return Reply(text: reason, status: status, durationMs: durationMs)
      case .broken(let reason): throw Ended(description: reason)
      }
    }
    throw CancellationError()
  }

  private func next() -> [UInt8]? { machine.next() }

  private func take(_ frame: LinkFrame) throws {
    let actions = try machine.handle(frame)
    // Credit may have come.
    wake.signal()
    for action in actions {
      switch action {
      case .ready:
        isReady = true
        for reader in readers { reader.resume() }
        readers = []
      case .text(let stream, let text): calls[stream]?.yield(.text(text))
      case .progress: break
      case .ended(let stream, let status, let durationMs, let reason):
        calls[stream]?.yield(.ended(status, durationMs: durationMs, reason: reason))
        calls[stream]?.finish()
      }
    }
  }
}

/// Turns bytes that were cut anywhere into text, whole characters at a time.
struct UTF8Pieces {
  private var tail: [UInt8] = []

  /// The text up to the last whole scalar; what is begun waits for the rest.
  mutating func take(_ bytes: [UInt8]) -> String {
    let all = tail + bytes
    // A scalar has at most four bytes, so its first byte is among the last four or it is complete.
    var cut = all.count
    for index in all.indices.suffix(4).reversed() where all[index] & 0xc0 != 0x80 {
      let length = all[index] < 0x80 ? 1 : all[index] < 0xe0 ? 2 : all[index] < 0xf0 ? 3 : 4
      if index + length > all.count { cut = index }
      break
    }
    tail = Array(all[cut...])
    return String(decoding: all[..<cut], as: UTF8.self)
  }

  /// What was begun and never ended, replaced by U+FFFD.
  mutating func rest() -> String {
    defer { tail = [] }
    return String(decoding: tail, as: UTF8.self)
  }
}
