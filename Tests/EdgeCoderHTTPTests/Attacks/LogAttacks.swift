import EdgeCoderTesting
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOConcurrencyHelpers
import SystemTesting
import Testing

@testable import EdgeCoder
@testable import EdgeCoderHTTP

/// Every line of every level that the server, the central and the phone log, with what was said looked for in it.
@Suite("Prompts and replies in the log", .timeLimit(.minutes(5))) struct LogAttacks {
  /// In every prompt and reply, and in nothing else.
  private static let secret = "geheim"
  private static let messages = #""messages":[{"role":"system","content":"geheim"},{"role":"user","content":"geheim"}]"#

  /// Every route that takes a prompt, without and with streaming.
  private static let prompts = [
    ("/api/generate", #""prompt":"geheim""#), ("/api/generate", #""model":"edgecoder","prompt":"geheim""#),
    ("/api/generate", #""model":"edgecoder","system":"geheim","prompt":"geheim""#), ("/api/chat", messages),
    ("/v1/chat/completions", messages + #","stop":["geheimer"]"#), ("/v1/completions", #""prompt":"geheim""#),
  ]

  private static var requests: [(path: String, body: String)] {
    prompts.flatMap { path, body in
      [false, true].map { streams in (path: path, body: "{\(body),\"stream\":\(streams)}") }
    }
  }

  /// Bodies that are refused, with text of their own in all that a decoder may quote.
  private static let malformed = [
    #"{"prompt":"geheim""#, #"{"prompt":["geheim",{"geheim":1}]}"#, #"{"messages":[{"role":"geheim","content":7}]}"#,
    #"{"model":"geheim","prompt":"geheim"}"#, "geheim",
  ]

  /// Sends all requests, and expects that the log has them and nothing of what they contain.
  private func expectSilence(
    of log: RecordingLog, _ service: any InferenceService, _ expected: Set<Int>
  ) async throws {
    try await withAPI(service, .live, logger: log.logger) { client in
      for (path, body) in Self.requests {
        let response = try await client.post(path, body, headers: [.authorization: "Bearer \(Self.secret)"])
        #expect(expected.contains(response.status.code), "\(path) \(body): \(response.status)")
      }
    }
    for path in Set(Self.requests.map(\.path)) { #expect(log.lines.contains(path), "\(path)") }
    #expect(!log.lines.contains(Self.secret))
  }

  @Test("No route logs a prompt, a reply or a failure that quotes them") func noRouteLogsWhatWasSaid() async throws {
    let reply = FakeService(output: "\(Self.secret) antwort")
    try await expectSilence(of: RecordingLog(), reply, [200])
    // EdgeCoder clients get the refusal of a phone as from its proxy.
    try await expectSilence(of: RecordingLog(), FakeService(output: Self.secret, ok: false), [200, 502])
    let failure = InferenceError(.badReply, "the reply was \(Self.secret)", hint: Self.secret)
    try await expectSilence(of: RecordingLog(), FakeService(failing: failure), [200, 502])
    struct Quoting: Error { let text = LogAttacks.secret }
    try await expectSilence(of: RecordingLog(), FakeService { _ in throw Quoting() }, [500])
  }

  @Test("No route logs a request that it refuses") func noRouteLogsWhatItRefuses() async throws {
    let log = RecordingLog()
    try await withAPI(FakeService(output: "x"), .live, logger: log.logger) { client in
      for path in Set(Self.requests.map(\.path)) {
        for body in Self.malformed { #expect(try await client.post(path, body).status != .ok, "\(path) \(body)") }
        let foreign = try await client.post(path, #"{"prompt":"geheim"}"#, headers: [.origin: "https://geheim.example"])
        #expect(foreign.status == .forbidden)
      }
      let unknown = try await client.post("/api/copy", #"{"prompt":"geheim"}"#)
      #expect(unknown.status == .notImplemented)
    }
    #expect(log.lines.contains("/api/copy"))
    #expect(!log.lines.contains(Self.secret))
  }

  /// An engine that repeats the prompt, and fails with it every other time.
  private final class QuotingEngine: Engine {
    let name = "quoting"
    private let count = NIOLockedValueBox(0)

    func modelState() async -> ModelState { .ready }

    func generate(_ request: InferenceRequest) -> AsyncThrowingStream<EngineOutput, any Error> {
      let prompt = request.prompt
      let fails = count.withLockedValue { count in
        count += 1
        return count % 2 == 0
      }
      return AsyncThrowingStream { continuation in
        continuation.yield(.text(prompt))
        continuation.finish(throwing: fails ? EngineError(.refused, "cannot answer \(prompt)") : nil)
      }
    }
  }

  @Test("Neither a central nor a phone logs what was said, over any bearer", arguments: [nil, MuxBearer.l2cap, .gatt])
  func noRoleLogsWhatWasSaid(bearer: MuxBearer?) async throws {
    let log = RecordingLog()
    let phone = LoopbackPhone(muxBearers: bearer.map { [$0] } ?? [])
    let air = LoopbackCentral()
    var configuration = CentralConfiguration()
    configuration.settleTime = .zero
    let central = Central(scanner: air, connector: air, configuration: configuration, logger: log.logger)
    let service = PhoneService(transport: phone, engine: QuotingEngine(), battery: { nil }, logger: log.logger)
    try await running([central.run, service.run]) {
      air.see(phone)
      try await eventually { await central.status().phones.first?.state == "ready" }
      #expect(await central.status().phones.first?.linkBearer == bearer)
      try await expectSilence(of: log, central, [200, 502])
      let hand = try await HandCentral(phone)
      try await hand.write(#"{"id":"geheim","prompt":["geheim"]}geheim"#)
      _ = await hand.reply()
    }
    #expect(log.lines.contains("job done"))
    #expect(!log.lines.contains(Self.secret))
  }

  @Test("The reason with which a peer closes a v2 mux is not logged") func noRoleLogsTheReasonOfAPeer() async throws {
    let log = RecordingLog()
    let phone = LoopbackPhone(muxBearers: [.l2cap])
    let service = PhoneService(transport: phone, engine: QuotingEngine(), battery: { nil }, logger: log.logger)
    try await running([service.run]) {
      let connection = try await phone.connect(PeerID("one"), mtu: 185)
      let channel = try await connection.openMux(over: .l2cap)
      try await channel.send(MuxFrame.hello(channel.terms(inflates: false)).encoded())
      try await channel.send(MuxFrame.fail(reason: Self.secret).encoded())
      try await eventually { log.lines.contains("v2 mux closed") }
    }
    let (near, far) = MemoryChannel.pair()
    let client = MuxClient(near, deflates: false, replyLimit: 100, time: .continuous)
    let run = Task { await client.run() }
    try await far.send(MuxFrame.welcome(far.terms(inflates: false)).encoded())
    try await far.send(MuxFrame.fail(reason: Self.secret).encoded())
    let reason = await run.value
    #expect(reason.contains("closed the mux"))
    #expect(!reason.contains(Self.secret), "the central logs it")
    #expect(!log.lines.contains(Self.secret))
  }
}
