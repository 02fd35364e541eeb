import Btsnoop
import Foundation
import SystemTesting
import Testing

private let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Recordings")

/// The recordings of the lab, which RECORDINGS.md describes.
enum Recordings {
  static let all = ["gatt-peer"]

  static func path(_ name: String) -> String { folder.appending(path: "\(name).btsnoop").path }

  static func records(_ name: String) throws -> [CaptureRecord] {
    var reader = BtsnoopReader()
    reader.append([UInt8](try Data(contentsOf: URL(filePath: path(name)))))
    var records: [CaptureRecord] = []
    while let record = try reader.next() { records.append(record) }
    try reader.finish()
    return records
  }
}

@Suite("Btsnoop: what Wireshark and btmon read", .timeLimit(.minutes(5)))
struct OtherReadersTests {
  /// The opcodes of all packets of the Attribute Protocol.
  private func opcodes(_ name: String) throws -> [String] {
    var assemblers = [false: L2CAPAssembler(), true: L2CAPAssembler()]
    return try Recordings.records(name).compactMap { record in
      guard record.kind == .sentData || record.kind == .receivedData, let fragment = ACLFragment(record.bytes),
        let frame = assemblers[record.kind.isReceived]?.add(fragment), frame.channel == L2CAPFrame.attributes,
        ATTPacket(frame.payload) != nil
      else { return nil }
      return frame.payload.first.map { hexadecimal($0, 2) }
    }
  }

  private func hexadecimal(_ number: some BinaryInteger, _ digits: Int) -> String {
    let text = String(number, radix: 16)
    return "0x" + String(repeating: "0", count: max(digits - text.count, 0)) + text
  }

  @Test(.enabled(if: ChildProcess.path(of: "tshark") != nil, "needs tshark"), arguments: Recordings.all)
  func `tshark joins the same responses to the same requests`(name: String) async throws {
    let fields = ["btatt.opcode", "btatt.handle"].flatMap { ["-e", $0] }
    let shark = try ChildProcess(
      "tshark", ["-r", Recordings.path(name), "-Y", "btatt", "-T", "fields", "-E", "occurrence=f"] + fields,
      errors: .discarded)
    let (status, output, _) = await shark.outcome()
    #expect(status == 0)
    let lines = output.split(separator: "\n").map { $0.split(separator: "\t").map(String.init) }
    #expect(lines.map(\.first) == (try opcodes(name)))
    #expect(lines.count > 20)
    var decoder = TrafficDecoder()
    let operations = try Recordings.records(name).flatMap { decoder.handle($0) }.operations
    let answered = operations.filter { [.read, .write].contains($0.kind) && $0.outcome == .done }
    let responses = lines.filter { ["0x0b", "0x13"].contains($0[0]) }
    #expect(answered.map { hexadecimal($0.handle, 4) } == responses.map { $0.last ?? "" })
  }

  @Test(.enabled(if: ChildProcess.path(of: "btmon") != nil, "needs btmon"), arguments: Recordings.all)
  func `btmon finds the same packets and the same reasons`(name: String) async throws {
    let btmon = try ChildProcess("btmon", ["-r", Recordings.path(name)], errors: .discarded)
    let (status, output, _) = await btmon.outcome()
    // btmon 5.66 dies of a fault of its own on services that it has not seen before (-1 is a signal), and what it prints
    // ends within a line then.
    let isWhole = status == 0
    #expect(isWhole || status == -1)
    let lines = output.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.dropLast(isWhole ? 0 : 1)
    func numbers(_ start: String) -> [String] {
      lines.filter { $0.hasPrefix(start) }.compactMap { line in
        line.split(separator: "(").last.map { String($0.prefix { $0 != ")" }) }
      }
    }
    let found = numbers("ATT: ")
    let expected = try opcodes(name)
    #expect(found.count >= 8)
    #expect(found == (isWhole ? expected : Array(expected.prefix(found.count))))
    guard isWhole else { return }
    var decoder = TrafficDecoder()
    let events = try Recordings.records(name).flatMap { decoder.handle($0) }
    let reasons = events.compactMap { if case .disconnected(let reason) = $0.kind { reason.rawValue } else { nil } }
    #expect(numbers("Reason: ") == reasons.map { hexadecimal($0, 2) })
    let pairing = events.count { if case .pairing = $0.kind { true } else { false } }
    #expect(lines.count { $0.hasPrefix("SMP: ") } == pairing)
  }
}
