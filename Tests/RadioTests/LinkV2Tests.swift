import EdgeCoder
import Foundation
import Testing

/// The v2 link over an L2CAP channel and over GATT, between two radios.
extension RadioTests {
  @Suite("The v2 mux, over the radio") struct LinkV2 {
    @Test("Prompts use the v2 mux, and fall back to the raw protocol without it", .timeLimit(.minutes(5)))
    func everythingGoesOverTheLinkAndFallsBackWithoutIt() async throws {
      try await withCentral(on: Radio.mac) { central in
        for bearer in MuxBearer.allCases {
          try await withPhone(on: Radio.phone, links: [bearer]) { phone in
            // The phone before it may still be on its way out.
            _ = try await central.askUntilAnswered("are you there", within: .seconds(60))
            #expect(await central.status().phones.first?.linkBearer == bearer)
            for length in [20, 20_000] {
              let prompt = "é" + String(repeating: "p", count: length - 2)
              #expect(try await central.generate(prompt: prompt, maxTokens: nil).answer.output == prompt)
            }
            for length in [10, 2000, 200 << 10] {
              let reply = try await central.generate(prompt: "\(length)", maxTokens: nil)
              #expect(reply.answer.ok, "a reply of \(length) bytes")
              #expect(reply.answer.output == SizedEngine.text(length), "a reply of \(length) bytes")
            }
            let counters = await phone.snapshot().counters
            #expect(counters.requests == 6)
            #expect(counters.replies == 6)
            #expect(counters.chunks == 0)
          }
        }
        // The next phone on the same radio offers none.
        try await withPhone(on: Radio.phone) { phone in
          let reply = try await central.askUntilAnswered("2000", within: .seconds(60))
          #expect(reply.answer.output == SizedEngine.text(2000))
          #expect(await central.status().phones.first?.linkVersion == 1)
          #expect(await phone.snapshot().counters.chunks > 0)
        }
      }
    }

    /// Each piece is made only when the one before has reached the HTTP client.
    @Test(
      "An HTTP client reads a streamed reply and hangs up", .enabled(if: Command.isBuilt, Command.needed),
      .timeLimit(.minutes(5)))
    func anHTTPClientReadsAlongAndHangsUp() async throws {
      let engine = SpokenEngine()
      let central = try Subprocess(
        Command.path,
        ["central", "--json", "--port", "0", "--adapter", Radio.mac, "--access", "open", "--max-phones", "1"])
      defer { central.terminate() }
      let port = try await central.line(with: "serving").components(separatedBy: #""port":"#)[1]
        .prefix { $0.isNumber }
      try await withPhone(on: Radio.phone, engine: engine, links: Set(MuxBearer.allCases)) { _ in
        _ = try await central.line(with: #""state":"ready""#)

        let reader = try Self.ask(port: port)
        for word in ["Once", "upon", "a", "time"] {
          engine.say(word)
          #expect(try await reader.line(with: #""response":""# + word).contains(#""done":false"#))
        }
        engine.end()
        _ = try await reader.line(with: #""done":true"#)

        // One line is enough for it.
        let leaver = try Self.ask(
          port: port, reading: "while read -r line; do echo $line; [[ $line != *response* ]] || exit; done")
        engine.say("Once")
        _ = try await leaver.line(with: #""response":"Once""#)
        try await bounded(.seconds(30), "the engine stops") {
          for await _ in engine.cancellations { return }
        }
      }
      // It ends its link, which takes bluetoothd two seconds.
      #expect(try await central.end() == 0)
    }

    private static func ask(port: Substring, reading reader: String = "cat") throws -> Subprocess {
      let body = #"{"model":"edgecoder","prompt":"go"}"#
      let request =
        #"POST /api/generate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: \#(body.utf8.count)"#
        + #"\r\n\r\n"#
      return try Subprocess(
        "/bin/bash",
        ["-c", "exec 3<>/dev/tcp/127.0.0.1/\(port); printf '\(request)' >&3; printf '%s' '\(body)' >&3; \(reader) <&3"])
    }
  }
}

/// An engine that says what the test says, when it does.
private final class SpokenEngine: Engine {
  let name = "spoken"
  private let (words, speaker) = AsyncStream.makeStream(of: String?.self)
  let (cancellations, cancelled) = AsyncStream.makeStream(of: Void.self)

  func say(_ word: String) { speaker.yield(word) }
  func end() { speaker.yield(nil) }

  func modelState() async -> ModelState { .ready }

  func generate(_ request: InferenceRequest) -> AsyncThrowingStream<EngineOutput, any Error> {
    let words = words
    let cancelled = cancelled
    return AsyncThrowingStream { continuation in
      let task = Task {
        for await word in words {
          guard let word else { break }
          continuation.yield(.text(word))
        }
        continuation.finish()
      }
      continuation.onTermination = { reason in
        task.cancel()
        if case .cancelled = reason { cancelled.yield() }
      }
    }
  }
}
