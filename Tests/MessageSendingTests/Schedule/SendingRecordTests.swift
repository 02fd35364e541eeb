import DeterministicTesting
import Foundation
import Testing

@testable import MessageSending

/// The schedule's record on disk.
@Suite("The schedule's record", .timeLimit(.minutes(5))) struct SendingRecordTests {
  private static var example: SendingRecord {
    var record = SendingRecord()
    record.isPending = true
    record.failures = 0x0102_0304
    record.remaining = 1
    record.lastTrigger = -1
    record.lastRun = 1_790_000_000_000
    record.due = .max
    return record
  }

  @Test("P1, 10: a record round-trips, and a new one is not pending and has never run") func recordsRoundTrip() throws {
    let new = try SendingRecord(bytes: SendingRecord().bytes)
    #expect(new == SendingRecord())
    #expect(!new.isPending)
    #expect(new.lastRun == nil)
    #expect(try SendingRecord(bytes: Self.example.bytes) == Self.example)
  }

  @Test("The layout has fixed little-endian fields") func theLayout() {
    let hex = Self.example.bytes.map { String(format: "%02x", $0) }.joined()
    let fields = [
      "454253454e44310a", "0100000000000000", "04030201", "01000000", "ffffffffffffffff",
      "006c50c4a0010000", "0000000000000080", "ffffffffffffff7f",
    ]
    #expect(hex.prefix(112) == fields.joined())
    #expect(hex.count == 2 * SendingRecord.byteCount)
  }

  @Test("All records have one size, whatever they contain") func allRecordsHaveOneSize() {
    #expect(SendingRecord().bytes.count == SendingRecord.byteCount)
    #expect(Self.example.bytes.count == SendingRecord.byteCount)
  }

  @Test("Every flipped bit, and every other size, is found") func everyChangeIsFound() {
    let bytes = Self.example.bytes
    for bit in 0..<bytes.count * 8 {
      var changed = bytes
      changed[bit / 8] ^= 1 << (bit % 8)
      #expect(throws: MessageSendingError.self) { try SendingRecord(bytes: changed) }
    }
    for count in 0..<bytes.count {
      #expect(throws: MessageSendingError.self) { try SendingRecord(bytes: Array(bytes[..<count])) }
    }
    #expect(throws: MessageSendingError.self) { try SendingRecord(bytes: bytes + [0]) }
  }

  /// Also with a right checksum, which an attacker can compute.
  @Test("Anything as a record is a typed error or a record, and the schedule continues from it")
  func anythingAsARecord() throws {
    let inputs = ProcessInfo.processInfo.environment["EDGEBLUE_FUZZ_INPUTS"].flatMap { Int($0) } ?? 2000
    var random = SeededGenerator(seed: 7)
    var accepted = 0
    for _ in 0..<inputs {
      var record = SendingRecord()
      record.isPending = .random(using: &random)
      record.failures = .random(in: 0...(.max), using: &random)
      record.remaining = .random(in: 0...(.max), using: &random)
      record.lastTrigger = .random(in: (.min)...(.max), using: &random)
      record.lastRun = .random(in: (.min)...(.max), using: &random)
      record.lastFailure = .random(in: (.min)...(.max), using: &random)
      record.due = .random(in: (.min)...(.max), using: &random)
      var bytes = record.bytes
      if Bool.random(using: &random) {
        bytes[.random(in: 0..<64, using: &random)] = .random(in: 0...255, using: &random)
      }
      do {
        var machine = SendingMachine(record: try SendingRecord(bytes: bytes), policy: .usual)
        accepted += 1
        let now = Int64.random(in: (.min)...(.max), using: &random)
        _ = machine.dueEvent(at: now)
        _ = machine.delay(at: now)
        for event in [.started, .sent, .ended(.attempted), .ticked, .ended(.cancelled), .stopping]
          as [SendingMachine.Event]
        {
          _ = machine.handle(event, at: now, draw: .random(in: 0..<1, using: &random))
        }
      } catch {
        #expect(error.code == .damagedFile)
      }
    }
    #expect(accepted > inputs / 3)
  }
}
