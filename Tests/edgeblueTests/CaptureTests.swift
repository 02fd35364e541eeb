import Btsnoop
import Foundation
import Streams
import Testing

@testable import edgeblue

@Suite("The command capture", .timeLimit(.minutes(5)))
struct CaptureTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "capture-\(UUID().uuidString)")
  private var file: String { folder.appending(path: "it.btsnoop").path }

  init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

  /// One end of a socket in the kernel's place.
  private final class Kernel: Sendable {
    let ours: FileDescriptor
    let theirs: FileDescriptor

    init() throws {
      var ends: [Int32] = [0, 0]
      try #require(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0)
      ours = FileDescriptor(owning: ends[0])
      theirs = FileDescriptor(owning: ends[1])
    }

    /// - Parameter mayEnd: Whether the recording may have ended, which closes the socket.
    func send(_ kind: UInt16, _ content: [UInt8], adapter: UInt16 = 0, mayEnd: Bool = false) {
      let packet =
        [kind, adapter, UInt16(content.count)].flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] } + content
      let sent = ours.withNumber { Glibc.send($0, packet, packet.count, Int32(MSG_NOSIGNAL)) }
      let hasEnded = mayEnd && sent == -1 && errno == EPIPE
      #expect(sent == packet.count || hasEnded)
    }
  }

  private func session(
    _ kernel: Kernel, bytes: Int = 1 << 20, files: Int = 1, replacing: Bool = false,
    filter: CaptureFilter.Options = .init()
  ) throws -> CaptureSession {
    try CaptureSession(
      to: file, replacing: replacing, limits: .init(bytes: bytes, files: files), filter: filter,
      open: { records, end throws(BtsnoopError) in
        try TrafficMonitor(owning: kernel.theirs, onRecords: records, onEnd: end)
      })
  }

  private func records(_ path: String) throws -> [CaptureRecord] {
    var found: [CaptureRecord] = []
    let problem = try RecordingFile(path).read { found.append($0) }
    #expect(problem == nil)
    return found
  }

  private static let reset: [UInt8] = [0x03, 0x0c, 0]

  @Test("What came before the stop is in the file, and the file is for its user alone")
  func theFileIsForItsUser() async throws {
    let kernel = try Kernel()
    let capture = try session(kernel)
    for _ in 0..<500 { kernel.send(2, Self.reset) }
    capture.stop()
    let end = await capture.end()
    #expect(end.reason == .stopped)
    #expect(end.error == nil)
    #expect(end.packets == 500)
    #expect(try records(file).map(\.bytes) == [[UInt8]](repeating: Self.reset, count: 500))
    var status = stat()
    #expect(stat(file, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
    #expect(end.bytes == Int(status.st_size))
  }

  @Test func `an existing file is kept, and replaced on demand`() async throws {
    try Data("mine".utf8).write(to: URL(filePath: file))
    let kernel = try Kernel()
    #expect { try session(kernel) } throws: { ($0 as? Failure)?.status == .badInput }
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "mine")
    let other = try Kernel()
    let capture = try session(other, replacing: true)
    capture.stop()
    _ = await capture.end()
    #expect(try records(file).isEmpty)
  }

  @Test func `a recording ends at its size, with a file that is whole`() async throws {
    let kernel = try Kernel()
    let capture = try session(kernel, bytes: 1000)
    for _ in 0..<100 { kernel.send(2, Self.reset, mayEnd: true) }
    let end = await capture.end()
    #expect(end.reason == .size)
    // A header of 16 bytes, and 27 bytes for each packet.
    #expect(try records(file).count == 36)
    #expect(end.packets == 36)
  }

  @Test func `the newest files are kept, each with the adapters at its beginning`() async throws {
    let kernel = try Kernel()
    let capture = try session(kernel, bytes: 1000, files: 3)
    kernel.send(0, [0, 1] + [1, 2, 3, 4, 5, 6] + Array("hci0".utf8) + [0, 0, 0, 0])
    for number in 0..<200 { kernel.send(2, [UInt8(number), 0x0c, 0]) }
    capture.stop()
    let end = await capture.end()
    #expect(end.packets == 201)
    #expect(end.files > 4)
    let kept = try [file + ".2", file + ".1", file].map(records)
    #expect(!FileManager.default.fileExists(atPath: file + ".3"))
    for file in kept { #expect(file.first?.kind == .newIndex) }
    let numbers = kept.flatMap { $0.dropFirst().map { $0.bytes[0] } }
    let newest = UInt8(200 - numbers.count)...199
    #expect(numbers == Array(newest))
  }

  @Test func `keys are left out, and what programs tell the kernel`() async throws {
    let kernel = try Kernel()
    let capture = try session(kernel)
    let key = [UInt8](repeating: 0x77, count: 16)
    kernel.send(2, [0x1a, 0x20, 18, 1, 0] + key)
    kernel.send(16, [0, 0, 0, 0] + key)
    capture.stop()
    _ = await capture.end()
    #expect(try records(file).map(\.bytes) == [[0x1a, 0x20, 18, 1, 0] + [UInt8](repeating: 0, count: 16)])
  }

  @Test func `a kernel that goes ends the recording with the reason`() async throws {
    let kernel = try Kernel()
    let capture = try session(kernel)
    kernel.send(2, Self.reset)
    kernel.ours.close()
    let end = await capture.end()
    #expect(end.reason == .failed)
    #expect((end.error as? BtsnoopError)?.code == .noBluetooth)
    #expect(try records(file).count == 1)
  }

  @Test func `a refusal of the kernel leaves no file and names the command that helps`() throws {
    let refusal = BtsnoopError(.notPermitted, "no")
    #expect(throws: refusal) {
      try CaptureSession(
        to: file, replacing: false, limits: .init(bytes: 1, files: 1), filter: .init(),
        open: { _, _ throws(BtsnoopError) in throw refusal })
    }
    #expect(!FileManager.default.fileExists(atPath: file))
    let failure = Failure(refusal)
    #expect(failure.status == .notPermitted)
    #expect(failure.hint?.contains("sudo edgeblue capture") == true)
  }

  @Test func `a cut file is shown up to the cut`() throws {
    let writer = BtsnoopWriter()
    let record = CaptureRecord(time: 0, adapter: 0, kind: .command, bytes: Self.reset)
    let bytes = writer.header + (writer.bytes(of: record) ?? []) + [0, 0]
    try Data(bytes).write(to: URL(filePath: file))
    var count = 0
    let problem = try RecordingFile(file).read { _ in count += 1 }
    #expect(count == 1)
    #expect(problem?.code == .truncated)
    try Data("other".utf8).write(to: URL(filePath: file))
    #expect { try RecordingFile(file).read { _ in } } throws: { ($0 as? BtsnoopError)?.code == .notBtsnoop }
    #expect(throws: Failure.self) { try RecordingFile(folder.path) }
  }
}
