import Btsnoop
import DeterministicTesting
import Foundation
import Testing

@Suite("Btsnoop: any input")
struct AnythingTests {
  /// `EDGEBLUE_FUZZ_INPUTS` makes it longer.
  private static let count = Int(ProcessInfo.processInfo.environment["EDGEBLUE_FUZZ_INPUTS"] ?? "") ?? 20_000

  private static let kinds: [CaptureRecord.Kind] = [
    .newIndex, .indexInformation, .command, .event, .event, .sentData, .receivedData, .receivedData, .systemNote,
  ]

  /// Changes packets of good conversations, and gives them to one decoder and one filter.
  @Test func `changed packets are decoded or refused`() throws {
    var random = SeededGenerator(seed: 25)
    var talk = Conversation()
    talk.connect()
    talk.discover()
    talk.attributes([0x02, 0x05, 0x02], [0x03, 0xb9, 0])
    talk.send(L2CAPFrame.signals, [0x14, 7, 10, 0] + [0x80, 0x40, 100, 50, 10].flatMap(bytes))
    talk.send(L2CAPFrame.signals, [0x15, 7, 10, 0] + [0x50, 200, 60, 10, 0].flatMap(bytes), fromHost: false)
    talk.send(0x50, [5, 0, 1, 2, 3, 4, 5])
    talk.send(L2CAPFrame.security, [6] + Array(0..<16), fromHost: false)
    talk.event(0x3e, [0x02, 1, 0, 0] + Conversation.peer + [3, 2, 1, 6, 0xc4])
    talk.disconnect()
    var decoder = TrafficDecoder()
    var filters = [CaptureFilter(), CaptureFilter(.init(device: Conversation.address, masksPayloads: true))]
    let writer = BtsnoopWriter()
    for number in 0..<Self.count {
      var record = talk.records[number % talk.records.count]
      for _ in 0..<Int.random(in: 0...3, using: &random) where !record.bytes.isEmpty {
        switch Int.random(in: 0...3, using: &random) {
        case 0:
          record.bytes[Int.random(in: record.bytes.indices, using: &random)] = .random(in: 0...255, using: &random)
        case 1: record.bytes.removeLast(Int.random(in: 0...record.bytes.count, using: &random))
        case 2: record.bytes += record.bytes.suffix(Int.random(in: 0...20, using: &random))
        default: record.kind = Self.kinds.randomElement(using: &random) ?? .event
        }
      }
      record.time = .random(in: .min ... .max, using: &random)
      _ = decoder.handle(record)
      for index in filters.indices {
        guard let kept = filters[index].handle(record) else { continue }
        #expect(kept.bytes.count <= record.bytes.count)
        #expect(writer.bytes(of: kept) != nil)
      }
    }
    #expect(decoder.openLinks.count <= 64)
  }

  @Test func `changed files are read or refused`() throws {
    var random = SeededGenerator(seed: 2025)
    var talk = Conversation()
    talk.connect()
    talk.discover()
    var refused = 0
    for format in BtsnoopFormat.allCases {
      let writer = BtsnoopWriter(format)
      let good = writer.header + talk.records.flatMap { writer.bytes(of: $0) ?? [] }
      for _ in 0..<(Self.count / 100) {
        var bytes = good
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0...255, using: &random)
        }
        var reader = BtsnoopReader()
        reader.append(bytes)
        do {
          while let record = try reader.next() { #expect(record.bytes.count <= 0x20000) }
          try reader.finish()
        } catch {
          refused += 1
          #expect(error.category == .invalidInput)
        }
      }
    }
    #expect(refused > 0)
  }
}
