import DeterministicTesting
import EdgeCoderTesting
import Streams
import SystemTesting
import Testing
import Timing

@testable import EdgeCoder

@Suite("Both ends of a v2 mux, in memory", .timeLimit(.minutes(5))) struct MuxSessionTests {
  /// The properties of a link that a test changes.
  struct LinkOptions: Sendable {
    /// The limit on a frame in bytes.
    var limit = 600
    var deflates = false
    var requestLimit = 100_000
    var replyLimit = 1_000_000
  }

  /// Runs a link whose phone does what `answer` says with each request.
  static func withLink<Value: Sendable>(
    options: LinkOptions = LinkOptions(),
    answer: @Sendable @escaping (MuxServer, UInt32, String) async -> Void,
    onCancel: @Sendable @escaping (UInt32) -> Void = { _ in },
    _ body: @Sendable @escaping (MuxClient, (central: MemoryChannel, phone: MemoryChannel)) async throws -> Value
  ) async throws -> Value {
    let (near, far) = MemoryChannel.pair(limit: options.limit)
    // Nobody moves it: however long a busy machine takes, neither end gives the other up.
    let time = TimeSource(ManualClock())
    let (actions, feed) = BoundedStream.make(of: MuxServerMachine.Action.self, limit: 4096, policy: .dropNewest)
    let server = MuxServer(far, requestLimit: options.requestLimit, time: time) { feed.yield($0) }
    let client = MuxClient(near, deflates: options.deflates, replyLimit: options.replyLimit, time: time)
    return try await withThrowingTaskGroup(of: Value?.self) { group in
      group.addTask {
        _ = await server.run()
        return nil
      }
      group.addTask {
        _ = await client.run()
        return nil
      }
      group.addTask {
        await withTaskGroup(of: Void.self) { jobs in
          for await action in actions {
            switch action {
            case .request(let stream, let prompt, _): jobs.addTask { await answer(server, stream, prompt) }
            case .form(let stream, let request, _): jobs.addTask { await answer(server, stream, request.prompt) }
            case .cancel(let stream): onCancel(stream)
            }
          }
        }
        return nil
      }
      group.addTask {
        try await client.waitUntilReady()
        return try await body(client, (near, far))
      }
      defer { group.cancelAll() }
      while let ended = try await group.next() {
        if let value = ended { return value }
      }
      throw LoopbackError("the link ended")
    }
  }

  static let echo: @Sendable (MuxServer, UInt32, String) async -> Void = { server, stream, prompt in
    await server.append(stream, prompt)
    await server.finish(stream, MuxEnding(durationMs: 5))
  }

  @Test("A prompt of any length comes back", arguments: [0, 1, 100, 65_535, 65_536, 65_537, 99_999], [false, true])
  func aPromptOfAnyLengthComesBack(length: Int, deflates: Bool) async throws {
    let prompt = String((0..<length).map { _ in Character(UnicodeScalar(UInt8.random(in: 97...122))) })
    let reply = try await Self.withLink(options: LinkOptions(deflates: deflates), answer: Self.echo) { client, _ in
      try await client.exchange(prompt: prompt, maxTokens: nil)
    }
    #expect(reply == MuxClient.Reply(answer: .text(prompt), durationMs: 5))
  }

  @Test("A reply comes piece by piece and many at once") func aReplyComesPieceByPieceAndManyAtOnce() async throws {
    let replies = try await Self.withLink(options: LinkOptions(limit: 700)) { server, stream, prompt in
      for number in 0..<300 { await server.append(stream, "\(prompt)\(number)é ") }
      await server.finish(stream, MuxEnding(durationMs: 1))
    } _: { client, _ in
      try await withThrowingTaskGroup(of: (Int, MuxClient.Reply, String).self) { group in
        for call in 0..<12 {
          group.addTask {
            let heard = Lock("")
            let reply = try await client.exchange(prompt: "\(call)-", maxTokens: 7) { piece in
              heard.withLock { $0 += piece }
            }
            return (call, reply, heard.withLock { $0 })
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
    }
    #expect(replies.count == 12)
    for (call, reply, heard) in replies {
      #expect(reply.answer.text == (0..<300).map { "\(call)-\($0)é " }.joined())
      #expect(heard == reply.answer.text)
    }
  }

  @Test("A slow consumer delays its own reply and no other") func aSlowReaderHoldsItsOwnReplyUpAndNoOther() async throws
  {
    try await Self.withLink(answer: Self.echo) { client, channels in
      let long = String(repeating: "x", count: 90_000)
      let (gate, door) = AsyncStream.makeStream(of: Void.self)
      let slow = Task { try await client.exchange(prompt: long, maxTokens: nil) { _ in for await _ in gate {} } }
      for _ in 0..<20 {
        let quick = try await client.exchange(prompt: "quick", maxTokens: nil)
        #expect(quick.answer.text == "quick")
      }
      // The phone has sent one window of it, and no more.
      let sent = channels.phone.sent.withLock { frames in
        frames.compactMap { frame -> Int? in
          guard let frame = try? MuxFrame.decode(frame), case .data(1, let text) = frame else { return nil }
          return text.count
        }.reduce(0, +)
      }
      #expect(sent <= 65536)
      door.finish()
      let reply = try await slow.value
      #expect(reply.answer.text == long)
    }
  }

  @Test("A cancelled request is cancelled at the phone") func aCancelledRequestIsCancelledAtThePhone() async throws {
    let cancelled = Counter()
    let asked = Counter()
    try await Self.withLink { server, stream, prompt in
      if prompt == "wait" { asked.increment() } else { await Self.echo(server, stream, prompt) }
    } onCancel: { _ in
      cancelled.increment()
    } _: { client, _ in
      let call = Task { try await client.exchange(prompt: "wait", maxTokens: nil) }
      try await eventually { asked.value > 0 }
      call.cancel()
      await #expect(throws: CancellationError.self) { try await call.value }
      try await eventually { cancelled.value > 0 }
      let next = try await client.exchange(prompt: "next", maxTokens: nil)
      #expect(next.answer.text == "next")
    }
  }

  @Test("Refusals and failures carry their reason") func refusalsAndFailuresCarryTheirReason() async throws {
    try await Self.withLink(options: LinkOptions(requestLimit: 50, replyLimit: 20)) { server, stream, prompt in
      switch prompt {
      case "fail":
        await server.append(stream, "half an")
        await server.finish(stream, MuxEnding(durationMs: 3, refusal: .init(.failed, "the engine died")))
      default:
        await server.append(stream, String(repeating: "y", count: 100))
        await server.finish(stream, MuxEnding(durationMs: 3))
      }
    } _: { client, _ in
      let long = try await client.exchange(prompt: String(repeating: "x", count: 51), maxTokens: nil)
      #expect(long.answer == .refusal(.init(.refused, "the prompt has 51 bytes; allowed: 50")))
      let failed = try await client.exchange(prompt: "fail", maxTokens: nil)
      #expect(failed == MuxClient.Reply(answer: .refusal(.init(.failed, "the engine died")), durationMs: 3))
      let error = await #expect(throws: MuxClient.ReplyTooLong.self) {
        try await client.exchange(prompt: "long", maxTokens: nil)
      }
      #expect(error?.limit == 20)
    }
  }

  @Test("The end of the channel fails every request") func theEndOfTheChannelFailsEveryRequest() async throws {
    try await Self.withLink { _, _, _ in
    } _: { client, channels in
      let calls = (0..<5).map { _ in Task { try await client.exchange(prompt: "x", maxTokens: nil) } }
      try await eventually { channels.central.sent.withLock { $0.count } >= 6 }
      await channels.phone.close()
      for call in calls { await #expect(throws: MuxClient.Closed.self) { try await call.value } }
      await #expect(throws: MuxClient.Closed.self) { try await client.exchange(prompt: "x", maxTokens: nil) }
    }
  }
}
