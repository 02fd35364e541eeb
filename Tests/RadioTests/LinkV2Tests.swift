import BlueZ
import EdgeCoder
import Foundation
import Testing

/// The v2 link over an L2CAP channel, between two radios.
extension RadioTests {
  @Suite struct LinkV2 {
    @Test(.timeLimit(.minutes(4)))
    func everythingGoesOverTheLinkAndFallsBackWithoutIt() async throws {
      try await withCentral(on: Radio.mac) { central in
        try await withPhone(on: Radio.phone, offersLink: true) { phone in
          try await central.waitForPhones()
          #expect(await central.status().phones.first?.linkVersion == 2)
          for length in [20, 20_000] {
            let prompt = "é" + String(repeating: "p", count: length - 2)
            #expect(try await central.generate(prompt: prompt, maxTokens: nil).output == prompt)
          }
          for length in [10, 2000, 200 << 10] {
            let reply = try await central.generate(prompt: "\(length)", maxTokens: nil)
            #expect(reply.ok && reply.output == SizedEngine.text(length), "a reply of \(length) bytes")
          }
          let counters = await phone.snapshot().counters
          #expect(counters.requests == 5 && counters.replies == 5 && counters.chunks == 0)
        }
        // The next phone on the same radio offers none.
        try await withPhone(on: Radio.phone) { phone in
          let reply = try await central.askUntilAnswered("2000", within: .seconds(60))
          #expect(reply.output == SizedEngine.text(2000))
          #expect(await central.status().phones.first?.linkVersion == 1)
          #expect(await phone.snapshot().counters.chunks > 0)
        }
      }
    }
  }
}
