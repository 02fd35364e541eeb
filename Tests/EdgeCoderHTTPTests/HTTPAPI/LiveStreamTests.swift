import EdgeCoder
import EdgeCoderTesting
import Foundation
import HummingbirdTesting
import NIOConcurrencyHelpers
import SystemTesting
import Testing

@testable import EdgeCoderHTTP

@Suite("Streams of a phone with a v2 mux, as HTTP clients see them", .timeLimit(.minutes(5))) struct LiveStreamTests {
  private let air = LoopbackCentral()
  private let phone = LoopbackPhone(muxBearers: [.l2cap])
  private let engine = GatedEngine()

  /// A stream of each kind: its path, its body, and what its pieces look like.
  private static let streams = [
    ("/api/generate", #"{"model":"edgecoder","prompt":"go"}"#, #""response":""#),
    ("/api/generate", #"{"prompt":"go","stream":true}"#, #""response":""#),
    ("/api/chat", #"{"messages":[{"role":"user","content":"go"}]}"#, #""content":""#),
    ("/v1/chat/completions", #"{"stream":true,"messages":[{"role":"user","content":"go"}]}"#, #""content":""#),
    ("/v1/completions", #"{"stream":true,"prompt":"go"}"#, #""text":""#),
  ]

  /// Runs the API in front of a central that has the phone, and sends it the prompt.
  private func withStream(
    _ path: String, _ body: String, _ test: @Sendable @escaping (RawClient, GatedEngine.Prompt) async throws -> Void
  ) async throws {
    var configuration = CentralConfiguration()
    configuration.settleTime = .zero
    let central = Central(scanner: air, connector: air, configuration: configuration)
    let service = PhoneService(transport: phone, engine: engine)
    try await running([service.run, central.run]) {
      air.see(phone)
      try await eventually { await central.status().phones.first?.linkVersion == 2 }
      try await eventually { await central.status().connected }
      try await withAPI(central, .live) { client in
        let raw = try RawClient(port: try #require(client.port))
        try raw.send(
          "POST \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            + body)
        try await test(raw, try await engine.next())
      }
    }
  }

  @Test("Each piece arrives before the next is produced", arguments: streams)
  func eachPieceComesBeforeTheNextIsMade(stream: (String, String, String)) async throws {
    let (path, body, piece) = stream
    try await withStream(path, body) { raw, asked in
      asked.say("Once ")
      let head = try await raw.read(until: piece + "Once \"")
      #expect(head.hasPrefix("HTTP/1.1 200"))
      asked.say("upon")
      _ = try await raw.read(until: piece + "upon\"")
      asked.say(" a time")
      asked.end()
      let end = try await raw.readToEnd()
      #expect(end.contains(piece + " a time\""))
      #expect(end.contains(path.hasPrefix("/v1") ? "data: [DONE]" : #""done":true"#))
      #expect(!end.contains("error"))
    }
  }

  @Test("A client that hangs up frees the phone", arguments: streams, [true, false])
  func aClientThatHangsUpFreesThePhone(stream: (String, String, String), politely: Bool) async throws {
    try await withStream(stream.0, stream.1) { raw, asked in
      asked.say("Once ")
      _ = try await raw.read(until: "Once ")
      raw.close(reset: !politely)
      try await eventually { engine.cancelled == 1 }
    }
  }

  @Test("A failure in the middle is reported in the stream", arguments: streams)
  func aFailureInTheMiddleIsToldInTheStream(stream: (String, String, String)) async throws {
    try await withStream(stream.0, stream.1) { raw, asked in
      asked.say("Once ")
      _ = try await raw.read(until: "Once ")
      asked.fail(EngineError(.interrupted, "it died"))
      let end = try await raw.readToEnd()
      let message = "the phone could not answer: engine interrupted: it died"
      if stream.0.hasPrefix("/v1") {
        #expect(end.contains(#"data: {"error":{"code":"phone_failed","message":"\#(message)""#))
        #expect(!end.contains("[DONE]"))
      } else {
        #expect(end.contains(#""error":"\#(message)""#))
        #expect(!end.contains(#""done":true"#))
      }
    }
  }

  @Test("A failure before the first piece has its status", arguments: streams)
  func aFailureBeforeTheFirstPieceHasItsStatus(stream: (String, String, String)) async throws {
    try await withStream(stream.0, stream.1) { raw, asked in
      asked.fail(EngineError(.interrupted, "it died"))
      let all = try await raw.readToEnd()
      // An EdgeCoder client gets it as its proxy sends it.
      let isProxys = stream.0 == "/api/generate" && !stream.1.contains("model")
      #expect(all.hasPrefix(isProxys ? "HTTP/1.1 200" : "HTTP/1.1 502"))
      let reason = "engine interrupted: it died"
      #expect(all.contains(isProxys ? "[\(reason)]" : "the phone could not answer: \(reason)"))
    }
  }

  @Test("A client in another process receives each piece, too") func aClientInAnotherProcessHearsEachPieceToo()
    async throws
  {
    var configuration = CentralConfiguration()
    configuration.settleTime = .zero
    let central = Central(scanner: air, connector: air, configuration: configuration)
    let service = PhoneService(transport: phone, engine: engine)
    try await running([service.run, central.run]) {
      air.see(phone)
      try await eventually { await central.status().phones.first?.linkVersion == 2 }
      try await eventually { await central.status().connected }
      try await withAPI(central, .live) { http in
        let client = CentralClient(url: "http://127.0.0.1:\(try #require(http.port))")
        for ending in [nil, EngineError(.interrupted, "it died")] as [EngineError?] {
          let heard = NIOLockedValueBox("")
          async let reply = client.generate(prompt: "go", maxTokens: nil) { piece in
            heard.withLockedValue { $0 += piece }
          }
          let asked = try await engine.next()
          for piece in ["Once ", "upon"] {
            asked.say(piece)
            try await eventually { heard.withLockedValue { $0.hasSuffix(piece) } }
          }
          if let ending { asked.fail(ending) } else { asked.end() }
          let received = try await reply
          #expect(received.ok == (ending == nil))
          #expect(received.phone == "phone")
          #expect(received.output == (ending == nil ? "Once upon" : "[engine interrupted: it died]"))
        }
      }
    }
  }

  @Test("A stop sequence ends the generation") func aStopSequenceEndsTheGeneration() async throws {
    let body = #"{"prompt":"go","stream":true,"stop":[" three"]}"#
    try await withStream("/v1/completions", body) { raw, asked in
      asked.say("one two th")
      _ = try await raw.read(until: #""text":"one two""#)
      asked.say("ree four")
      let end = try await raw.readToEnd()
      #expect(!end.contains("th"))
      #expect(end.contains(#""finish_reason":"stop""#))
      #expect(end.contains("[DONE]"))
      try await eventually { engine.cancelled == 1 }
    }
  }

  @Test("The producer waits for the consumer") func whoMakesTextWaitsForWhoTakesIt() async throws {
    let given = Signal()
    let generation = Generation { onPart in
      await onPart(.text("one"))
      given.fire()
      await onPart(.text("two"))
      return InferenceReply(id: "1", output: "onetwo", ok: true, durationMs: 1, phone: "p")
    }
    #expect(await generation.next() == .text("one"))
    await given.wait()
    #expect(await generation.next() == .text("two"))
    #expect(await generation.next() == nil)
    #expect(try await generation.result().output == "onetwo")
  }

  @Test("Stop sequences are found wherever the text is cut") func stopSequencesAreFoundWhereverTheTextIsCut() {
    let cases: [(text: String, stops: [String], left: String)] = [
      ("eins zwei drei", ["drei", " zwei"], "eins"), ("aaab", ["aab"], "a"), ("ababac", ["abac"], "ab"),
      ("häß", ["ß"], "hä"), ("abc", ["bc", "abc"], ""), ("abcd", ["x", ""], "abcd"),
      ("ends with sto", ["stop"], "ends with sto"),
    ]
    for (text, stops, left) in cases {
      var filter = StopFilter(stops)
      let pieces = text.unicodeScalars.map { filter.filter(String($0)) }
      #expect(pieces.joined() + filter.finish() == left, "\(text)")
    }
  }
}
