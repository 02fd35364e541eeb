import Btsnoop
import Testing

@Suite("Btsnoop: files")
struct FileTests {
  private static let records = [
    CaptureRecord(time: 1_764_110_000_123_456, adapter: 0, kind: .command, bytes: [0x03, 0x0c, 0]),
    CaptureRecord(time: 1_764_110_000_123_999, adapter: 3, kind: .event, bytes: [0x0e, 4, 1, 3, 0x0c, 0], drops: 2),
    CaptureRecord(time: -5, adapter: 0, kind: .sentData, bytes: [1, 0, 0, 0]),
    CaptureRecord(time: 0, adapter: 0, kind: .receivedData, bytes: [1, 0x20, 0, 0], originalLength: 300),
  ]

  private func read(_ bytes: [UInt8], piece: Int = .max) throws -> [CaptureRecord] {
    var reader = BtsnoopReader()
    var found: [CaptureRecord] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      reader.append(rest.prefix(piece))
      rest = rest.dropFirst(piece)
      while let record = try reader.next() { found.append(record) }
    }
    try reader.finish()
    return found
  }

  private func file(_ format: BtsnoopFormat, _ records: [CaptureRecord]) throws -> [UInt8] {
    let writer = BtsnoopWriter(format)
    return try writer.header + records.flatMap { try #require(writer.bytes(of: $0)) }
  }

  @Test(arguments: [1, 2, 7, 16, 23, 24, 25, 1000])
  func `a file of the monitor is read as it was written, in pieces of any size`(piece: Int) throws {
    #expect(try read(try file(.monitor, Self.records), piece: piece) == Self.records)
  }

  @Test(arguments: [BtsnoopFormat.uart, .hci])
  func `a file of one controller keeps all but the adapter`(format: BtsnoopFormat) throws {
    let expected = Self.records.map { record in
      CaptureRecord(
        time: record.time, adapter: 0, kind: record.kind, bytes: record.bytes, originalLength: record.originalLength,
        drops: record.drops)
    }
    #expect(try read(try file(format, Self.records)) == expected)
  }

  @Test func `a notice does not fit into a file of one controller`() {
    let notice = CaptureRecord(time: 0, adapter: 0, kind: .systemNote, bytes: [0])
    #expect(BtsnoopWriter(.uart).bytes(of: notice) == nil)
    #expect(BtsnoopWriter(.hci).bytes(of: notice) == nil)
    let voice = CaptureRecord(time: 0, adapter: 0, kind: .sentVoice, bytes: [0])
    #expect(BtsnoopWriter(.hci).bytes(of: voice) == nil)
  }

  @Test func `a file that ends within a record is truncated, and the records before it are good`() throws {
    let bytes = try file(.monitor, Self.records)
    for length in 16..<bytes.count {
      var reader = BtsnoopReader()
      reader.append(bytes[..<length])
      var count = 0
      while try reader.next() != nil { count += 1 }
      #expect(count == reader.count)
      let whole = (0...4).map { Self.records.prefix($0).reduce(16) { $0 + 24 + $1.bytes.count } }
      #expect(count == whole.lastIndex { $0 <= length })
      if whole.contains(length) {
        try reader.finish()
      } else {
        #expect { try reader.finish() } throws: { ($0 as? BtsnoopError)?.code == .truncated }
      }
    }
  }

  @Test func `other files are refused with their reason`() throws {
    let good = try file(.monitor, Self.records)
    func refusal(_ change: (inout [UInt8]) -> Void) -> BtsnoopError.Code? {
      var bytes = good
      change(&bytes)
      do {
        _ = try read(bytes)
        return nil
      } catch { return (error as? BtsnoopError)?.code }
    }
    #expect(refusal { $0[0] = 0x0a } == .notBtsnoop)
    #expect(refusal { $0 = [] } == .notBtsnoop)
    #expect(refusal { $0 = Array("btsn".utf8) } == .notBtsnoop)
    #expect(refusal { $0[11] = 2 } == .unsupported)
    #expect(refusal { $0[15] = 1 } == .unsupported)
    // More bytes than the longest packet, and more than the original had.
    #expect(refusal { $0[20] = 1 } == .malformed)
    #expect(refusal { $0[19] = 0 } == .malformed)
    #expect(refusal { _ in } == nil)
  }

  @Test func `a record of an unknown kind on a serial line is malformed`() throws {
    var bytes = try file(.uart, [Self.records[0]])
    bytes[40] = 9
    #expect { try read(bytes) } throws: { ($0 as? BtsnoopError)?.code == .malformed }
  }
}
