import DurableFiles
import Foundation
import Glibc
import Streams
import Testing

@testable import MessageSending

/// The folder of received messages, on a real disk and on one that fails.
@Suite("Segments of received messages", .timeLimit(.minutes(5))) struct MessageSegmentsTests {
  private let folder = FileManager.default.temporaryDirectory.path + "/edgeblue-collect-\(UUID().uuidString.prefix(8))"

  private static func message(_ number: Int) -> SealedMessage {
    SealedMessage(checked: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: SealedMessage.byteCount))
  }

  private func contents() throws -> [SealedMessage] {
    var messages: [SealedMessage] = []
    for path in try MessageSegments.paths(in: folder) { try MessageSegments.read(path) { messages.append($0) } }
    return messages
  }

  private func removing(_ body: () throws -> Void) throws {
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: folder) } }
    try body()
  }

  @Test("Messages are stored in order, and a full segment is finished") func messagesAreStoredInOrder() throws {
    try removing {
      let segments = try MessageSegments(folder: folder, limit: 3)
      for number in 0..<8 { try segments.append(Self.message(number)) }
      #expect(try contents() == (0..<8).map(Self.message))
      #expect(try segments.finished.map { $0.suffix(12) } == ["00000001.box", "00000002.box"])
      try segments.finish()
      try segments.finish()
      #expect(try segments.finished.count == 3)
    }
  }

  @Test("Names that no collector makes are not segments") func strangeNames() throws {
    try removing {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      for name in ["9223372036854775807.box", "9223372036854775806.part", "-5.part", "7.box", "0000000x.box"] {
        try Data().write(to: URL(filePath: "\(folder)/messages-\(name)"))
      }
      let segments = try MessageSegments(folder: folder)
      try segments.append(Self.message(1))
      try segments.finish()
      #expect(FileManager.default.fileExists(atPath: folder + "/messages-00000001.box"))
    }
  }

  @Test("A restart continues the segment, and removes half a message that a crash left") func aRestartContinues() throws
  {
    try removing {
      var segments: MessageSegments? = try MessageSegments(folder: folder, limit: 3)
      try segments?.append(Self.message(1))
      segments = nil
      let path = folder + "/messages-00000001.part"
      let file = try GrowingFile(path, on: Disk(), isContinued: true)
      try file.append([UInt8](repeating: 9, count: 400))
      segments = try MessageSegments(folder: folder, limit: 3)
      try segments?.append(Self.message(2))
      #expect(try contents() == [Self.message(1), Self.message(2)])
      try segments?.finish()
      segments = nil
      segments = try MessageSegments(folder: folder, limit: 3)
      try segments?.append(Self.message(3))
      #expect(try contents() == (1...3).map(Self.message))
    }
  }

  @Test("A second collector of the folder is refused") func aSecondCollectorIsRefused() throws {
    try removing {
      let first = try MessageSegments(folder: folder)
      let error = #expect(throws: MessageSendingError.self) { try MessageSegments(folder: folder) }
      #expect(error?.code == .busy)
      try withExtendedLifetime(first) { try first.append(Self.message(1)) }
    }
  }

  @Test("A message that a full or broken disk refuses is not stored, and the next one is") func aBrokenDisk() throws {
    for step in [DiskStep.open, .write, .sync] {
      try removing {
        let broken = Lock(false)
        let disk = Disk { asked, path in
          broken.withLock { $0 } && asked == step && path.hasSuffix(".part") ? ENOSPC : nil
        }
        let segments = try MessageSegments(folder: folder, limit: 100, disk: disk)
        if step != .open { try segments.append(Self.message(1)) }
        broken.withLock { $0 = true }
        let error = #expect(throws: MessageSendingError.self) { try segments.append(Self.message(2)) }
        #expect(error?.code == .storage)
        broken.withLock { $0 = false }
        try segments.append(Self.message(3))
        #expect(try contents() == (step == .open ? [3] : [1, 3]).map(Self.message))
      }
    }
  }
}
