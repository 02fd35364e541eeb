import Testing

@testable import EdgeCoder

@Suite("Protocol errors of the v2 mux, and their limits") struct MuxStreamTests {
  private static let terms = MuxTerms(window: 1000, frameLimit: 600, inflates: false)

  private static func server(requestLimit: Int = 5000) throws -> MuxServerMachine {
    var machine = MuxServerMachine(terms: terms, bearerLimit: 600, requestLimit: requestLimit)
    #expect(try machine.handle(.hello(terms)) == [])
    #expect(try machine.next().flatMap(MuxFrame.decode) == .welcome(terms))
    return machine
  }

  private static func client() throws -> MuxClientMachine {
    var machine = MuxClientMachine(terms: terms, bearerLimit: 600)
    #expect(machine.open(prompt: "early", maxTokens: nil) == nil)
    #expect(try machine.next().flatMap(MuxFrame.decode) == .hello(terms))
    #expect(try machine.handle(.welcome(terms)) == [.ready])
    return machine
  }

  private static func open(_ stream: UInt32, _ length: Int, _ text: Int) -> MuxFrame {
    .open(stream: stream, maxTokens: 0, length: UInt32(length), text: [UInt8](repeating: 97, count: text))
  }

  private static func data(_ stream: UInt32, _ count: Int) -> MuxFrame {
    .data(stream: stream, text: [UInt8](repeating: 97, count: count))
  }

  static let wrong: [(String, [MuxFrame])] = [
    ("allowed: more than 1", [open(1, 1, 1), open(1, 1, 1)]),
    ("DATA before OPEN", [data(1, 1)]),
    ("CANCEL before OPEN", [.cancel(stream: 4)]),
    ("bytes of text without credit", [open(1, 5000, 500), data(1, 1001)]),
    ("longer than the announced", [open(1, 10, 5), data(1, 6)]),
    ("only a phone may send", [.end(stream: 1, status: .ok, durationMs: 0, text: [])]),
    ("only a phone may send", [.hello(terms)]),
    ("closed the mux with FAIL", [.fail(reason: "tired")]),
  ]

  @Test("The phone closes a mux that violates the protocol", arguments: wrong) func thePhoneEndsALinkThat(
    reason: String, frames: [MuxFrame]
  ) throws {
    var machine = try Self.server()
    let error = try #require(throws: MalformedFrame.self) { for frame in frames { _ = try machine.handle(frame) } }
    #expect(error.description.contains(reason))
    var silent = MuxServerMachine(terms: Self.terms, bearerLimit: 600, requestLimit: 10)
    #expect(throws: MalformedFrame.self) { try silent.handle(Self.open(1, 1, 1)) }
  }

  @Test("The central closes a mux that violates the protocol") func theCentralEndsALinkThatLies() throws {
    for (reason, frames) in [
      ("was not sent", [Self.data(2, 1)]), ("credit", [Self.data(1, 600), Self.data(1, 600)]),
      ("only a central", [.cancel(stream: 1)]), ("only a central", [.welcome(Self.terms)]),
    ] {
      var machine = try Self.client()
      #expect(machine.open(prompt: "x", maxTokens: 5) == 1)
      let error = try #require(throws: MalformedFrame.self) { for frame in frames { _ = try machine.handle(frame) } }
      #expect(error.description.contains(reason))
    }
  }

  @Test("Credit is granted after reading and not before") func creditComesWithTheReadingAndNoSooner() throws {
    var machine = try Self.server()
    #expect(try machine.handle(Self.open(1, 5000, 400)) == [])
    #expect(machine.next() == nil, "not worth a frame yet")
    #expect(try machine.handle(Self.data(1, 100)) == [])
    #expect(try machine.next().flatMap(MuxFrame.decode) == .credit(stream: 1, bytes: 500))
    for sent in stride(from: 500, to: 5000, by: 500) {
      let actions = try machine.handle(Self.data(1, 500))
      #expect(actions.isEmpty == (sent < 4500))
    }
  }

  @Test("An unacceptable request is refused and its rest ignored")
  func whatIsNotAcceptableIsRefusedAndTheRestPassedOver() throws {
    var machine = try Self.server(requestLimit: 100)
    #expect(try machine.handle(Self.open(1, 101, 50)) == [])
    #expect(try machine.handle(Self.data(1, 51)) == [])
    let broken = MuxFrame.open(stream: 2, maxTokens: 0, length: 1, text: [0xff])
    #expect(try machine.handle(broken) == [])
    var statuses: [MuxStatus] = []
    while let bytes = machine.next() {
      if case .end(_, let status, _, _, _) = try MuxFrame.decode(bytes) { statuses.append(status) }
    }
    #expect(statuses == [.refused, .refused])
    for stream in 3..<UInt32(3 + MuxServerMachine.streamLimit) {
      #expect(try machine.handle(Self.open(stream, 1, 1)).count == 1)
    }
    #expect(try machine.handle(Self.open(99, 1, 1)) == [])
    let refusal = try machine.next().flatMap(MuxFrame.decode)
    guard case .end(99, .busy, _, _, _) = refusal else {
      Issue.record("not refused as busy")
      return
    }
  }

  @Test("A request cancelled before it was sent is never sent") func aRequestGivenUpBeforeItWasSentIsNeverHeardOf()
    throws
  {
    var machine = try Self.client()
    let first = machine.open(prompt: "x", maxTokens: nil)
    let stream = try #require(first)
    machine.cancel(stream)
    #expect(machine.next() == nil)
    let second = machine.open(prompt: "y", maxTokens: nil)
    let next = try #require(second)
    let opened = try machine.next().flatMap(MuxFrame.decode)
    guard case .open(next, 0, 1, false, _) = opened else {
      Issue.record("not opened")
      return
    }
    machine.cancel(next)
    #expect(try machine.next().flatMap(MuxFrame.decode) == .cancel(stream: next))
    // Its end may be on the way.
    #expect(try machine.handle(Self.data(next, 5)) == [])
    #expect(try machine.handle(.end(stream: next, status: .cancelled, durationMs: 0, text: [])) == [])
  }
}
