import Btsnoop
import Testing

@Suite("Btsnoop: what is left out")
struct FilterTests {
  /// A key that nothing else contains.
  private static let key: [UInt8] = (0..<16).map { 0xa0 + $0 }

  private func filtered(_ talk: Conversation, _ options: CaptureFilter.Options = .init()) -> [CaptureRecord] {
    var filter = CaptureFilter(options)
    return talk.records.compactMap { filter.handle($0) }
  }

  /// Commands, events and packets that contain a key.
  private static func secrets(piece: Int = 251) -> Conversation {
    var talk = Conversation()
    talk.piece = piece
    talk.connect()
    talk.command(0x2019, [1, 0] + [UInt8](repeating: 0, count: 10) + key)
    talk.command(0x201a, [1, 0] + key)
    talk.command(0x2027, [0] + Conversation.peer + key + key)
    talk.command(0x040b, Conversation.peer + key)
    talk.command(0x2017, key + key)
    talk.event(0x0e, [1, 0x17, 0x20, 0] + key)
    talk.event(0x18, Conversation.peer + key + [4])
    talk.event(0x3e, [0x09, 0] + key + key)
    for code: UInt8 in [0x03, 0x04, 0x06, 0x08, 0x0a] { talk.send(L2CAPFrame.security, [code] + key, fromHost: false) }
    talk.send(L2CAPFrame.classicSecurity, [0x06] + key)
    talk.add(.controlCommand, [0, 0, 0, 0] + key)
    talk.add(.userLog, key)
    return talk
  }

  /// Whether any four bytes of the key in a row are somewhere.
  private static func contains(_ records: [CaptureRecord]) -> Bool {
    records.contains { record in
      record.bytes.indices.contains { record.bytes[$0...].prefix(4).elementsEqual(key.dropFirst().prefix(4)) }
        || (0..<13).contains { start in
          let part = key[start..<(start + 4)]
          return record.bytes.indices.contains { record.bytes[$0...].starts(with: part) }
        }
    }
  }

  @Test(
    "Events with keys that end too early are kept, with zeros",
    arguments: [0x0e, 0x15, 0x18, 0x33, 0x3b, 0x3e] as [UInt8])
  func truncatedEvents(code: UInt8) throws {
    let results: [[UInt8]] = [[1, 0x17, 0x20, 0], [1, 0x18, 0x20, 0], [1, 0x57, 0x0c, 0], [1, 0x7d, 0x0c, 0]]
    let parameters = code == 0x0e ? results : code == 0x3e ? [[0x09]] : [[1]]
    for start in parameters {
      for count in 0...32 {
        let bytes = [code, UInt8(count)] + (start + Self.key + Self.key).prefix(count)
        for options in [CaptureFilter.Options(), .init(device: DeviceAddress("00:AA:01:00:00:42"))] {
          var filter = CaptureFilter(options)
          let kept = filter.handle(CaptureRecord(time: 0, adapter: 0, kind: .event, bytes: bytes))
          #expect(kept.map(\.bytes.count) ?? bytes.count == bytes.count)
          // Of a passkey only its four bytes are removed.
          if code != 0x33, code != 0x3b { #expect(kept?.bytes.contains(0xaf) != true, "\(count)") }
        }
      }
    }
  }

  @Test("No key is left, however a packet is cut", arguments: [4, 5, 6, 9, 13, 27, 251])
  func noKeyIsLeft(piece: Int) {
    let talk = Self.secrets(piece: piece)
    let kept = filtered(talk)
    #expect(Self.contains(talk.records))
    #expect(!Self.contains(kept))
    #expect(kept.count == talk.records.count - 2)
    for record in kept { #expect(record.bytes.count == record.originalLength) }
  }

  @Test func `keys are kept on demand`() {
    let talk = Self.secrets()
    #expect(filtered(talk, .init(keepsKeys: true)) == talk.records)
  }

  @Test func `the rest of a packet whose beginning is missing is removed`() {
    var talk = Conversation()
    talk.add(.receivedData, [1, 0x10, 16, 0] + Self.key)
    #expect(filtered(talk).map(\.bytes) == [[1, 0x10, 16, 0] + [UInt8](repeating: 0, count: 16)])
  }

  @Test func `the features of a pairing and its failure stay`() {
    var talk = Conversation()
    talk.connect()
    talk.send(L2CAPFrame.security, [1, 3, 0, 0x0d, 16, 3, 1])
    talk.send(L2CAPFrame.security, [5, 4], fromHost: false)
    talk.send(L2CAPFrame.security, [0x0c] + [UInt8](repeating: 7, count: 64))
    #expect(filtered(talk) == talk.records)
  }

  // MARK: Masks

  @Test("Masked values are gone, and what was discovered stays", arguments: [1, 3, 5, 8, 27, 251])
  func maskedValuesAreGone(piece: Int) {
    var talk = Conversation()
    talk.piece = piece
    talk.connect()
    talk.discover()
    talk.attributes([0x12, 13, 0, 1, 0], [0x13])
    talk.attributes([0x12, 12, 0] + Self.key, [0x13])
    talk.attributes([0x52, 12, 0] + Self.key)
    talk.attributes([0x0a, 12, 0], [0x0b] + Self.key)
    talk.attributes([0x0c, 12, 0, 1, 0], [0x0d] + Self.key)
    talk.attributes([0x08, 1, 0, 9, 0, 0, 0x2a], [0x09, 18, 3, 0] + Self.key)
    talk.attributes([0x16, 12, 0, 0, 0] + Self.key, [0x17, 12, 0, 0, 0] + Self.key)
    talk.send(L2CAPFrame.attributes, [0x1b, 12, 0] + Self.key, fromHost: false)
    talk.send(L2CAPFrame.attributes, [0x1d, 12, 0] + Self.key, fromHost: false)
    talk.send(0x50, bytes(32) + Self.key)
    talk.send(0x50, Self.key)
    let kept = filtered(talk, .init(keepsKeys: true, masksPayloads: true))
    #expect(kept.count == talk.records.count)
    if piece >= 8 { #expect(!Self.contains(kept)) }
    var decoder = TrafficDecoder()
    let events = kept.flatMap { decoder.handle($0) }
    #expect(decoder.table(of: .device(Conversation.address)).characteristics.map(\.uuid.short) == [0x2a37])
    for value in events.values + events.operations.filter({ $0.handle == 12 }).map(\.value) {
      #expect(value.allSatisfy { $0 == 0 })
    }
    if piece > 27 { #expect(events.operations.first?.value == [1, 0]) }
  }

  @Test func `names and data of advertisements are masked, and their services stay`() throws {
    var talk = Conversation()
    let data: [UInt8] = [3, 0x03, 0x0d, 0x18, 5, 0x09, 0x4c, 0x61, 0x6d, 0x70, 4, 0xff, 0x4c, 0, 9]
    talk.event(0x3e, [0x02, 1, 0, 0] + Conversation.peer + [UInt8(data.count)] + data + [0xc4])
    talk.event(
      0x3e,
      [0x0d, 1, 0x13, 0, 0] + Conversation.peer + [1, 0, 0xff, 0x7f, 0xc4, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        + [UInt8(data.count)] + data)
    talk.command(0x2008, [UInt8(data.count)] + data)
    let kept = filtered(talk, .init(masksPayloads: true))
    var decoder = TrafficDecoder()
    let events = kept.flatMap { decoder.handle($0) }
    #expect(events.count == 3)
    for event in events {
      let shown: AdvertisingData? =
        switch event.kind {
        case .advertisement(let report): report.data
        case .advertising(_, let data): data
        default: nil
        }
      let masked = try #require(shown)
      #expect(masked.services == [AttributeUUID(0x180d)])
      #expect(masked.name == "")
      #expect(masked.manufacturerData.map(\.bytes) == [[0]])
    }
  }

  // MARK: Devices

  @Test func `only one device is kept`() {
    var talk = Conversation()
    talk.command(0x0c03, [])
    talk.event(0x0e, [1, 0x03, 0x0c, 0])
    talk.connect()
    talk.discover()
    let wanted = talk.records
    talk.handle = 2
    talk.command(0x200d, [UInt8](repeating: 0, count: 5) + [0, 9, 9, 9, 9, 9, 9] + [UInt8](repeating: 0, count: 13))
    talk.command(0x2027, [0, 9, 9, 9, 9, 9, 9] + Self.key + Self.key)
    talk.connect(to: [9, 9, 9, 9, 9, 9])
    talk.discover()
    talk.command(0x0406, [2, 0, 0x13])
    talk.event(0x04, [9, 9, 9, 9, 9, 9, 0, 0, 0, 1])
    talk.disconnect()
    // The handle now belongs to another device.
    talk.handle = 1
    let before = talk.records.count
    talk.disconnect()
    let end = talk.records[before]
    talk.connect(to: [9, 9, 9, 9, 9, 9])
    talk.discover()
    #expect(filtered(talk, .init(device: Conversation.address, keepsKeys: true)) == wanted + [end])
  }

  @Test func `of an event with several advertisements the device's stay`() {
    var talk = Conversation()
    let other: [UInt8] = [9, 9, 9, 9, 9, 9]
    talk.event(
      0x3e,
      [0x02, 3, 0, 0] + other + [0, 0xc4] + [0, 0] + Conversation.peer + [1, 7, 0xc3] + [0, 0] + other + [0, 0xc4])
    talk.event(0x3e, [0x02, 1, 0, 0] + other + [0, 0xc4])
    let kept = filtered(talk, .init(device: Conversation.address))
    #expect(kept.map(\.bytes) == [[0x3e, 13, 0x02, 1, 0, 0] + Conversation.peer + [1, 7, 0xc3]])
  }

  @Test func `only one adapter is kept, and what concerns none`() {
    var talk = Conversation()
    talk.connect()
    talk.adapter = 1
    talk.connect()
    talk.adapter = CaptureRecord.noAdapter
    talk.add(.systemNote, [0x4c, 0])
    #expect(filtered(talk, .init(adapter: 0)).map(\.adapter) == [0, CaptureRecord.noAdapter])
  }
}
