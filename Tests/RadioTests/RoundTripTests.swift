import EdgeCoder
import Testing

/// EdgeBlue's phone and EdgeBlue's central, over two radios.
extension RadioTests {
  @Suite("Prompts and replies, over the radio") struct RoundTrips {
    @Test("Prompts and replies of every size arrive whole", .timeLimit(.minutes(5)))
    func promptsAndRepliesOfEverySize() async throws {
      try await withCentral(on: Radio.mac) { central in
        try await withPhone(on: Radio.phone) { phone in
          try await central.waitForPhones()
          for length in [20, 600, 20_000] {
            let prompt = "é" + String(repeating: "p", count: length - 2)
            let reply = try await central.generate(prompt: prompt, maxTokens: nil)
            #expect(reply.answer.ok)
            #expect(reply.answer.output == prompt)
          }
          for length in [10, 512, 513, 16 << 10, 200 << 10] {
            let reply = try await central.generate(prompt: "\(length)", maxTokens: nil)
            #expect(reply.answer.ok)
            #expect(reply.answer.output == SizedEngine.text(length), "a reply of \(length) bytes")
          }
          let counters = await phone.snapshot().counters
          #expect(counters.requests == 8)
          #expect(counters.refused.malformed == 0)
          #expect(await central.counters().malformed == 0)
        }
      }
    }

    /// With 517 bytes of MTU a chunk is 512 bytes; four-byte characters with 0 to 3 bytes before them are cut at every
    /// place.
    @Test("Characters may be split at every chunk boundary", .timeLimit(.minutes(5)))
    func charactersCutAtEveryChunkEdge() async throws {
      try await withCentral(on: Radio.mac) { central in
        try await withPhone(on: Radio.phone) { _ in
          try await central.waitForPhones()
          for padding in 0..<4 {
            let prompt = String(repeating: ".", count: padding) + String(repeating: "😀", count: 400)
            let got = try await central.generate(prompt: prompt, maxTokens: nil).answer.output
            #expect(got == prompt)
          }
        }
      }
    }

    @Test("Many prompts at once are answered one after another", .timeLimit(.minutes(5)))
    func manyPromptsAtOnceAreAnsweredOneAfterAnother() async throws {
      try await withCentral(on: Radio.mac) { central in
        try await withPhone(on: Radio.phone) { _ in
          try await central.waitForPhones()
          try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
              group.addTask {
                let prompt = "prompt \(number) " + String(repeating: "x", count: 700)
                let got = try await central.generate(prompt: prompt, maxTokens: nil).answer.output
                #expect(got == prompt)
              }
            }
            try await group.waitForAll()
          }
        }
      }
    }

    @Test("A phone that advertised before the scan is found", .timeLimit(.minutes(5)))
    func thePhoneIsFoundAlsoWhenItAdvertisesFirst() async throws {
      try await withPhone(on: Radio.phone) { _ in
        try await withCentral(on: Radio.mac) { central in
          try await central.waitForPhones()
          let got = try await central.generate(prompt: "here", maxTokens: nil).answer.output
          #expect(got == "here")
          let status = await central.status()
          #expect(status.connected)
          #expect(status.modelState == "ready")
        }
      }
    }

    @Test("A cancelled request leaves the connection usable", .timeLimit(.minutes(5)))
    func aCancelledRequestLeavesTheLinkInOrder() async throws {
      try await withCentral(on: Radio.mac) { central in
        try await withPhone(on: Radio.phone) { _ in
          try await central.waitForPhones()
          let given = Task { try await central.generate(prompt: "100000", maxTokens: nil) }
          try await ContinuousClock().sleep(for: .milliseconds(500))
          given.cancel()
          await #expect(throws: CancellationError.self) { try await given.value }
          let got = try await central.generate(prompt: "after", maxTokens: nil).answer.output
          #expect(got == "after")
        }
      }
    }
  }
}
