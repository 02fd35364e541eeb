import BlueZ
import EdgeCoder
import Testing
import Timing

/// A central without manners, made of the BlueZ module alone, against our phone.
extension RadioTests {
  @Suite("Centrals that speak the raw protocol") struct RawCentrals {
    static let service = BluetoothUUID(stringLiteral: EdgeCoderUUIDs.service)
    static let request = BluetoothUUID(stringLiteral: EdgeCoderUUIDs.request)
    static let response = BluetoothUUID(stringLiteral: EdgeCoderUUIDs.response)

    /// Finds the phone, connects and hands both ends of the service over.
    private func withLink(
      _ body: @escaping @Sendable (RemoteCharacteristic, RemoteCharacteristic) async throws -> Void
    ) async throws {
      let adapter = try await Radio.adapter(Radio.mac)
      let sightings = try await adapter.discover(.init(services: [Self.service]))
      try await withPhone(on: Radio.phone) { _ in
        let device = try await sightings.firstDevice("the phone's advertisement")
        try await device.connect()
        try await body(
          try device.characteristic(Self.request, in: Self.service),
          try device.characteristic(Self.response, in: Self.service))
        try await device.disconnect()
        try await adapter.awaitEnd(ofConnectionTo: try await Radio.adapter(Radio.phone))
      }
    }

    private static func message(_ id: String, _ prompt: String) -> [UInt8] {
      Wire.Request(id: id, prompt: prompt).encoded()
    }

    @Test("Garbage is survived, and a malformed request is answered", .timeLimit(.minutes(5)))
    func garbageIsSurvivedAndAMalformedRequestAnswered() async throws {
      try await withLink { request, response in
        let values = try await response.notifications()
        var replies = Replies(values)
        try await request.write(Array("}}} \u{0} not json".utf8))
        try await request.write(Array(#"{"id":"broken","prompt":7}"#.utf8))
        #expect(try await replies.next().id == "broken")
        // Two requests in one write, then one in four.
        try await request.write(Self.message("a", "1") + Self.message("b", "2"))
        #expect(try await replies.next().id == "a")
        #expect(try await replies.next().id == "b")
        let cut = Self.message("c", String(repeating: "ü", count: 40))
        for start in stride(from: 0, to: cut.count, by: 31) {
          try await request.write(Array(cut[start..<min(start + 31, cut.count)]))
        }
        let last = try await replies.next()
        #expect(last.id == "c")
        #expect(last.answer.output == String(repeating: "ü", count: 40))
      }
    }

    @Test("An endless request is refused, and the next one is served", .timeLimit(.minutes(5)))
    func anEndlessRequestIsRefusedAndTheNextOneServed() async throws {
      try await withLink { request, response in
        var replies = Replies(try await response.notifications())
        let writer = try await request.writer()
        try await writer.write(Array(#"{"id":"endless","prompt":""#.utf8))
        // The limit is 256 KiB.
        for _ in 0..<560 { try await writer.write(Array(repeating: UInt8(ascii: "x"), count: 500)) }
        let refusal = try await replies.next()
        #expect(refusal.id == "endless")
        #expect(!refusal.answer.ok)
        // What is left of it ends with this write; then a request of its own.
        try await writer.write(Array("\"}".utf8))
        try await writer.write(Self.message("next", "ok"))
        #expect(try await replies.next().id == "next")
      }
    }

    @Test("A slow reader loses nothing of a reply", .timeLimit(.minutes(5)))
    func aSlowReaderLosesNothingOfAReply() async throws {
      try await withLink { request, response in
        let values = try await response.notifications()
        try await request.write(Self.message("slow", "200000"))
        // Nobody reads for three seconds, while some 300 values come.
        try await ContinuousClock().sleep(for: .seconds(3))
        var replies = Replies(values)
        let got = try await replies.next().answer.output
        #expect(got == SizedEngine.text(200_000))
        #expect(values.dropped == 0)
      }
    }

    @Test("A reader without room gets the count of what it lost", .timeLimit(.minutes(5)))
    func aReaderWithoutRoomIsToldWhatItLost() async throws {
      try await withLink { request, response in
        let values = try await response.notifications(limit: 4, overflow: .dropNewest)
        try await request.write(Self.message("lossy", "20000"))
        try await ContinuousClock().sleep(for: .seconds(2))
        #expect(values.dropped > 0)
        #expect(values.received == values.dropped + 4)
        var kept = 0
        var iterator = values.makeAsyncIterator()
        while kept < 4, try await iterator.next() != nil { kept += 1 }
        #expect(kept == 4)
      }
    }

    /// An older bluetoothd does not tell centrals apart, and another one must not read the reply.
    @Test(
      "Reading the response characteristic gives the own last reply from BlueZ 5.76 on", .timeLimit(.minutes(5)))
    func aReadOfTheResponseGivesTheBeginningOfTheLastReply() async throws {
      let isOwn = try await Radio.has(.notifiesOnePeer)
      try await withLink { request, response in
        var replies = Replies(try await response.notifications())
        try await request.write(Self.message("kept", "30"))
        _ = try await replies.next()
        let value = try await response.read()
        #expect(String(decoding: value, as: UTF8.self).contains("kept") == isOwn)
      }
    }
  }
}

/// The replies in a stream of notifications.
private struct Replies {
  private var iterator: Notifications.Iterator
  private var scanner = JSONObjectScanner(sizeLimit: 1 << 20)
  private var found: [Wire.Response] = []

  init(_ values: Notifications) { iterator = values.makeAsyncIterator() }

  mutating func next() async throws -> Wire.Response {
    while found.isEmpty {
      guard let value = try await iterator.next() else { throw TestTimeout(phase: "the notifications ended") }
      for case .object(let object) in scanner.receive(value, at: TimeSource.continuous.now) {
        found.append(try Wire.Response.decode(object))
      }
    }
    return found.removeFirst()
  }
}
