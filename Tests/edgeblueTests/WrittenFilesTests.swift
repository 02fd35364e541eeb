import AudioIngest
import AudioIngestTesting
import Foundation
import SystemTesting
import Testing

@testable import edgeblue

/// The commands that write files which the user names: what is there stays, and a failure leaves nothing.
@Suite(
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct WrittenFilesTests {
  private let temporary: TemporaryFolder
  private let folder: String

  /// Records three segments of 2 s.
  init() throws {
    temporary = try TemporaryFolder()
    folder = temporary.path + "/recordings"
    var recording = try Recording(
      SegmentFolder(path: folder, limits: .init(reserve: 0)),
      SegmentRules(maximum: .seconds(2), quietSearch: .zero))
    recording.play(frames: 600)
    recording.recorder.end(.shutdown, at: recording.moment)
  }

  private func run(_ words: String...) async throws -> (status: Int32, output: String, errors: String) {
    try await ChildProcess(program, words, errors: .kept).outcome()
  }

  private func export(_ words: String...) async throws -> (status: Int32, output: String, errors: String) {
    try await ChildProcess(program, ["segments", "export", "--in", folder] + words, errors: .kept).outcome()
  }

  private static func names(in folder: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: folder).sorted()
  }

  @Test(
    "An export below the folder of the recordings is refused, and creates nothing",
    arguments: ["/sub", "/sub/deeper/", "/open/../sub"])
  func noExportAmongTheRecordings(_ place: String) async throws {
    let before = try Self.names(in: folder)
    #expect(try await export("-o", folder + place).status == ExitStatus.badInput.rawValue)
    #expect(try await export("--join", "-o", folder + place + "/x.wav").status == ExitStatus.badInput.rawValue)
    #expect(try Self.names(in: folder) == before)
  }

  @Test("An export replaces a file only with --replace") func exportsReplaceNothing() async throws {
    let target = temporary.path + "/mine.wav"
    try Data("mine".utf8).write(to: URL(filePath: target))
    #expect(try await export("--join", "-o", target).status == ExitStatus.badInput.rawValue)
    #expect(try String(contentsOfFile: target, encoding: .utf8) == "mine")
    #expect(try await export("--join", "--replace", "-o", target).status == 0)
    #expect(try Data(contentsOf: URL(filePath: target)).count == 44 + 600 * 320)
  }

  @Test("Keys that exist are kept, and only their owner can read them") func keysAreKept() async throws {
    let keys = temporary.path + "/keys"
    #expect(try await run("messages", "keys", "make", keys, "--recipient", "desk").status == 0)
    func secrets() throws -> [String: Data] {
      var all: [String: Data] = [:]
      for name in try Self.names(in: keys) where name.hasSuffix(".key") {
        all[name] = try Data(contentsOf: URL(filePath: keys + "/" + name))
        let mode = try FileManager.default.attributesOfItem(atPath: keys + "/" + name)[.posixPermissions] as? Int
        #expect(mode == 0o600)
      }
      return all
    }
    let first = try secrets()
    #expect(first.keys.sorted() == ["node-1.key", "node-2.key", "recipient-desk.key", "root.key"])
    #expect(try await run("messages", "keys", "make", keys, "--recipient", "desk").status == 0)
    #expect(try secrets() == first)
  }

  @Test(
    "A command on a full disk fails, and leaves nothing half-written",
    .enabled(if: SmallDisk.isPossible, "needs to be allowed to mount a disk in memory"))
  func aFullDiskLeavesNothing() async throws {
    let disk = try SmallDisk(megabytes: 1)
    try FileManager.default.createDirectory(atPath: disk.path + "/keys", withIntermediateDirectories: false)
    try FileManager.default.createDirectory(atPath: disk.path + "/out", withIntermediateDirectories: false)
    try disk.fill()
    let before = try Self.names(in: disk.path)
    let status = ExitStatus.unavailable.rawValue
    #expect(try await run("segments", "plot", "--in", folder, "-o", disk.path + "/o.svg").status == status)
    #expect(try await export("--join", "-o", disk.path + "/o.flac").status == status)
    #expect(try await export("-o", disk.path + "/out").status == status)
    let made = try await run("messages", "keys", "make", disk.path + "/keys", "--recipient", "desk")
    #expect(made.status == status)
    #expect(made.errors.contains("No space left on device"))
    #expect(try Self.names(in: disk.path) == before)
  }

  @Test("A corrupt segment is named and left out of an export, whose status says so")
  func aCorruptSegmentIsLeftOut() async throws {
    let path = try SegmentCatalog(path: folder).entries[1].segment.path
    let file = try FileHandle(forUpdating: URL(filePath: path))
    try file.seek(toOffset: 1000)
    try file.write(contentsOf: [99, 99, 99])
    let joined = try await export("--join", "-o", temporary.path + "/all.wav")
    #expect(joined.status == ExitStatus.failed.rawValue)
    let words = joined.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(words.contains("is not the WAV file that its sidecar describes"))
    #expect(joined.errors.contains("1 corrupt segment is left out"))
    let bytes = try Data(contentsOf: URL(filePath: temporary.path + "/all.wav")).dropFirst(44)
    let parts = [Recording.ramp(0..<32_000), [Int16](repeating: 0, count: 32_000), Recording.ramp(64_000..<96_000)]
    #expect(bytes == Data(Recording.bytes(parts.flatMap(\.self))))
    let closed = try await export("--join", "--pauses", "closed", "-o", temporary.path + "/closed.wav")
    #expect(closed.status == ExitStatus.failed.rawValue)
    #expect(try Data(contentsOf: URL(filePath: temporary.path + "/closed.wav")).count == 44 + 400 * 320)
    let apart = try await export("--json", "-o", temporary.path + "/apart")
    #expect(apart.status == ExitStatus.failed.rawValue)
    #expect(apart.output.contains(#""problems":[""#))
    #expect(try Self.names(in: temporary.path + "/apart").count == 2)
  }

  @Test("Segments are counted in words that fit their number") func oneSegment() async throws {
    func repair() async throws -> (status: Int32, output: String, errors: String) {
      try await run("segments", "repair", "--in", folder)
    }
    #expect(try await repair().output.contains("3 segments are intact"))
    for entry in try SegmentCatalog(path: folder).entries.dropFirst() {
      for end in [".wav", ".json"] { try FileManager.default.removeItem(atPath: entry.segment.path.dropLast(4) + end) }
    }
    #expect(try await repair().output.contains("1 segment is intact"))
    let path = try #require(try SegmentCatalog(path: folder).entries.first?.segment.path)
    try Data("{".utf8).write(to: URL(filePath: path.dropLast(4) + ".json"))
    let corrupt = try await repair()
    #expect(corrupt.status == ExitStatus.failed.rawValue)
    #expect(corrupt.errors.contains("1 of the segments in \(folder) is corrupt"), "\(corrupt.errors)")
  }

  @Test(
    "A folder of recordings that does not exist is something that is missing, and is not created",
    arguments: ["list", "show", "play-info", "plot", "export", "repair"])
  func aFolderIsMissing(command: String) async throws {
    let nowhere = temporary.path + "/nowhere"
    let outcome = try await run("segments", command, "--in", nowhere)
    #expect(outcome.status == ExitStatus.unavailable.rawValue)
    #expect(outcome.errors.contains("reading the folder \(nowhere): No such file or directory"), "\(outcome.errors)")
    #expect(!FileManager.default.fileExists(atPath: nowhere))
  }

  @Test("The lines of an export fit a terminal, and name no range that was not given") func exportLines() async throws {
    let out = try await ChildProcess(
      "sh", ["-c", #"cd "$1" && exec "$0" segments export --in recordings -o outdir"#, program, temporary.path]
    ).outcome().output
    let lines = out.split(separator: "\n")
    #expect(lines.count { $0.contains(".wav") } == 3)
    #expect(lines.allSatisfy { $0.count <= 80 }, "\(out)")
    let empty = temporary.path + "/empty"
    try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: false)
    let none = try await run("segments", "export", "--in", empty)
    #expect(none.status == ExitStatus.badInput.rawValue)
    #expect(!none.errors.contains("range"))
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path
