import EdgeCoder
import SystemTesting
import Testing

/// Against a stack nobody here wrote: Bumble as the central of our phone, and as the phone of our central.
extension RadioTests {
  @Suite("EdgeCoder with other stacks", .enabled(if: Radio.isLab && Radio.python != nil, Radio.peersNeeded))
  struct Interoperability {
    /// Runs our phone on the adapter the peer gives to BlueZ, and expects the peer to be content.
    private func central(
      _ arguments: [String], replies: Int, _ check: @escaping @Sendable ([[String: any Sendable]]) -> Void
    ) async throws {
      let peer = try LabPeer("edgecoder_central.py", arguments + ["--timeout", "290"])
      defer { peer.terminate() }
      let adapter = try await peer.adapterName()
      try await withPhone(on: adapter) { phone in
        var seen: [[String: any Sendable]] = []
        for _ in 0..<replies { seen.append(try await peer.next("reply", within: .seconds(150))) }
        check(seen)
        #expect(await peer.status() == 0)
        // The adapter goes with the peer, so only what was done before counts.
        #expect(await phone.snapshot().counters.refused.malformed == 0)
      }
    }

    /// The chunks of a reply are MTU − 3 bytes, at most 512, and come no faster than every 10 ms.
    @Test("A Bumble central gets whole replies at every MTU", .timeLimit(.minutes(5)), arguments: [23, 185, 247, 517])
    func aBumbleCentralGetsWholeRepliesAtEveryMTU(_ mtu: Int) async throws {
      // A 20-byte chunk every 10 ms is 2 kB/s: at the smallest MTU the replies are kept short.
      let length = mtu == 23 ? 600 : 16 << 10
      try await central(["--mtu", "\(mtu)", "--prompt", "\(length)", "--prompt", "512"], replies: 2) { replies in
        for reply in replies {
          #expect(reply["ok"] as? Bool ?? (reply["ok"] as? Int == 1))
          #expect((reply["largest_chunk"] as? Int ?? 0) <= min(mtu - 3, 512))
        }
        #expect(replies[0]["output_bytes"] as? Int == length)
        #expect(replies[0]["largest_chunk"] as? Int == min(mtu - 3, 512))
        #expect(replies[1]["output_bytes"] as? Int == 512)
      }
    }

    /// Below BlueZ 5.76 each hears what is for the others, and bluetoothd cuts it at that one's own MTU.
    @Test(
      "Listeners with different MTUs hear whole objects, in whichever order they subscribe", .timeLimit(.minutes(5)),
      arguments: ["23,185,517", "517,185,23", "185,517,23", "517,23", "23,517,185,23"])
    func listenersWithDifferentMTUs(_ mtus: String) async throws {
      let count = mtus.split(separator: ",").count
      let sizes = Array(repeating: 6, count: count) + Array(repeating: 300, count: count)
      try await central(["--listeners", mtus, "--prompt-bytes", "300", "--prompt", "ü🐟"], replies: 2 * count) {
        replies in
        #expect(replies.compactMap { $0["output_bytes"] as? Int }.sorted() == sizes)
      }
    }

    /// BlueZ 5.66 sends every reply to both; each finds its own by its id.
    @Test("Two Bumble centrals are served at once", .timeLimit(.minutes(5)))
    func twoBumbleCentralsAtOnce() async throws {
      try await central(["--centrals", "2", "--prompt", "2000", "--prompt", "10"], replies: 4) { replies in
        #expect(replies.compactMap { $0["output_bytes"] as? Int }.sorted() == [10, 10, 2000, 2000])
      }
    }

    @Test("A Bumble central that leaves in the middle of a reply is served when it is back", .timeLimit(.minutes(5)))
    func aBumbleCentralThatLeavesInMidReplyIsServedWhenItIsBack() async throws {
      try await central(["--disconnect-after-chunks", "5", "--prompt", "20000"], replies: 1) { replies in
        #expect(replies[0]["output_bytes"] as? Int == 20_000)
      }
    }

    @Test("A Bumble central may split its request anywhere", .timeLimit(.minutes(5)))
    func aBumbleCentralThatCutsItsRequestAnywhere() async throws {
      try await central(["--split-writes", "7", "--prompt-bytes", "3000"], replies: 1) { replies in
        #expect(replies[0]["output_bytes"] as? Int == 3000)
      }
    }

    /// Runs our central on the adapter the peer gives to BlueZ.
    private func phone(
      _ arguments: [String], _ body: @escaping @Sendable (Central) async throws -> Void
    ) async throws {
      let peer = try LabPeer("edgecoder_phone.py", arguments + ["--timeout", "290"])
      defer { peer.terminate() }
      let adapter = try await peer.adapterName()
      try await withCentral(on: adapter) { try await body($0) }
    }

    @Test("A Bumble phone answers", .timeLimit(.minutes(5)))
    func aBumblePhoneAnswers() async throws {
      try await phone([]) { central in
        try await central.waitForPhones(within: .seconds(120))
        for prompt in ["twenty bytes prompt!", String(repeating: "ä😀", count: 1000)] {
          let got = try await central.generate(prompt: prompt, maxTokens: nil).answer.output
          #expect(got == prompt)
        }
      }
    }

    @Test("Two Bumble phones share the load", .timeLimit(.minutes(5)))
    func twoBumblePhonesShareTheLoad() async throws {
      try await phone(["--phones", "2", "--reply-bytes", "6000"]) { central in
        try await central.waitForPhones(2, within: .seconds(120))
        let phones = try await withThrowingTaskGroup(of: String.self) { group in
          for _ in 0..<2 {
            group.addTask { try await central.generate(prompt: "go", maxTokens: nil).phone }
          }
          return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(phones.count == 2)
      }
    }

    @Test("A Bumble phone that leaves in the middle of a reply is found again", .timeLimit(.minutes(5)))
    func aBumblePhoneThatLeavesInMidReplyIsFoundAgain() async throws {
      try await phone(["--disconnect-after-chunks", "4", "--reply-bytes", "9000"]) { central in
        try await central.waitForPhones(within: .seconds(120))
        let error = await #expect(throws: InferenceError.self) {
          try await bounded(.seconds(30), "the failure") { try await central.generate(prompt: "x", maxTokens: nil) }
        }
        #expect(error?.code == .disconnected)
        let got = try await central.askUntilAnswered("again", within: .seconds(90)).answer.output.utf8.count
        #expect(got == 9000)
      }
    }

    @Test(
      "A Bumble phone under a new private address is used again, and the old address is forgotten",
      .timeLimit(.minutes(5)))
    func aBumblePhoneUnderANewAddress() async throws {
      let peer = try LabPeer("edgecoder_phone.py", ["--rotate", "--timeout", "290"])
      defer { peer.terminate() }
      let adapter = try await peer.adapterName()
      try await withCentral(on: adapter) { central in
        try await central.waitForPhones(within: .seconds(120))
        _ = try await peer.next("advertising")
        for _ in 1...4 {
          try await peer.type("")
          let told = try #require(try await peer.next("advertising")["address"] as? String)
          let began = ContinuousClock.now
          let id = told.prefix(17).replacing(":", with: "_")
          try await eventually { await central.status().phones.contains { $0.state == "ready" && $0.id.hasSuffix(id) } }
          print("used again under \(told) after \(began.duration(to: .now))")
          #expect(try await central.generate(prompt: "again", maxTokens: nil).answer.output == "again")
        }
        try await eventually { await central.status().phones.count == 1 }
      }
    }

    @Test("Garbage before a reply is skipped", .timeLimit(.minutes(5)))
    func garbageBeforeAReplyIsSkipped() async throws {
      try await phone(["--garbage-first"]) { central in
        try await central.waitForPhones(within: .seconds(120))
        let got = try await central.generate(prompt: "clean", maxTokens: nil).answer.output
        #expect(got == "clean")
      }
    }

    /// Two replies mixed chunk by chunk cannot be told apart; the request must fail soon, and the next one not at all.
    @Test("A reply mixed with another fails, and the next one is whole", .timeLimit(.minutes(5)))
    func aReplyMixedWithAnotherFailsAndTheNextOneIsWhole() async throws {
      try await phone(["--interleave", "--reply-bytes", "3000"]) { central in
        try await central.waitForPhones(within: .seconds(120))
        let error = await #expect(throws: InferenceError.self) {
          try await bounded(.seconds(30), "the failure") { try await central.generate(prompt: "x", maxTokens: nil) }
        }
        #expect(error?.code == .badReply)
        let got = try await central.askUntilAnswered("again", within: .seconds(90)).answer.output.utf8.count
        #expect(got == 3000)
      }
    }

    @Test("A reply without an end is refused at the size limit", .timeLimit(.minutes(5)))
    func aReplyWithoutEndIsRefusedAtTheLimit() async throws {
      try await phone(["--endless", "300000", "--pace", "0"]) { central in
        try await central.waitForPhones(within: .seconds(120))
        let error = await #expect(throws: InferenceError.self) {
          try await bounded(.seconds(60), "the failure") { try await central.generate(prompt: "x", maxTokens: nil) }
        }
        #expect(error?.code == .badReply)
      }
    }
  }
}
