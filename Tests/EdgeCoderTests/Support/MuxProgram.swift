import EdgeCoder
import Foundation
import Streams
import SystemTesting

@testable import EdgeCoder

/// `Peers/mux.py`: one side of a v2 mux, written from `docs/v2-mux.md` and with no code of ours.
final class MuxProgram: Sendable {
  private static let python = "/usr/bin/python3"
  private static let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Peers/mux.py").path
  static let isInstalled = ChildProcess.path(of: python) != nil
  /// The number of the mux in the program, where it is the central.
  static let mux: UInt16 = 0x1234

  private let process: ChildProcess
  /// The frames or values that it sends, for one consumer.
  let packets: BoundedStream<[UInt8]>
  /// What it has found, as JSON, for one consumer.
  let findings: BoundedStream<String>

  init(_ role: String, over bearer: MuxBearer) throws {
    process = try ChildProcess(Self.python, ["-u", Self.script, role, bearer.rawValue], hasInput: true)
    let (packets, packetSource) = BoundedStream.make(of: [UInt8].self, limit: 65536, policy: .dropNewest)
    let (findings, findingSource) = BoundedStream.make(of: String.self, limit: 8, policy: .dropNewest)
    self.packets = packets
    self.findings = findings
    let output = process.output
    // A thread of its own: reading blocks.
    Thread.detachNewThread {
      var rest: [UInt8] = []
      while case let bytes = read(output), !bytes.isEmpty {
        rest += bytes
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
          let line = String(decoding: rest[..<end], as: UTF8.self)
          rest.removeSubrange(...end)
          if line.hasPrefix("> ") { packetSource.yield(Self.bytes(line.dropFirst(2))) }
          if line.hasPrefix("= ") { findingSource.yield(String(line.dropFirst(2))) }
        }
      }
      packetSource.finish()
      findingSource.finish()
    }
  }

  deinit { process.kill() }

  func send(_ packet: [UInt8]) async throws { try await process.write(MuxFrameTests.hex(packet) + "\n") }

  /// Ends the program by the end of its input.
  func close() { process.input.close() }

  /// Runs the program over some lines, and returns the lines that it writes.
  static func answers(to lines: [String]) async throws -> [String] {
    let process = try ChildProcess(python, [script, "lines"], hasInput: true)
    // Read meanwhile, so that neither waits for the other.
    async let outcome = process.outcome()
    try await process.write(lines.map { $0 + "\n" }.joined())
    process.input.close()
    return await outcome.output.split(separator: "\n").map(String.init)
  }

  /// Returns the bytes of hexadecimal digits.
  static func bytes(_ digits: some StringProtocol) -> [UInt8] {
    let nibbles = digits.compactMap { $0.hexDigitValue }
    return stride(from: 0, to: nibbles.count - 1, by: 2).map { UInt8(nibbles[$0] << 4 | nibbles[$0 + 1]) }
  }

  /// Returns this program's side of a channel: of whole frames, or of values that ours joins.
  func channel(over bearer: MuxBearer) -> any MuxChannel {
    guard bearer == .gatt else { return FrameChannel(program: self) }
    let channel = GATTMuxChannel(
      mux: Self.mux, peer: PeerID("python"),
      bearer: .init(valueLimit: { 182 }, send: { try await self.send($0) }, onClose: {}))
    let packets = packets
    Task {
      for await packet in packets {
        if let value = MuxValue(packet), value.mux == Self.mux { channel.deliver(value) }
      }
      channel.end()
    }
    return channel
  }
}

/// A bearer of whole frames.
private struct FrameChannel: MuxChannel {
  let program: MuxProgram
  let peer = PeerID("python")
  let sendLimit = MuxFrame.longest
  let receiveLimit = MuxFrame.longest

  func send(_ frame: [UInt8]) async throws { try await program.send(frame) }

  func receive() async throws -> [UInt8]? {
    for await packet in program.packets { return packet }
    try Task.checkCancellation()
    return nil
  }

  func close() async { program.close() }
}
