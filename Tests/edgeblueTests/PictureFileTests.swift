import AudioIngest
import AudioIngestTesting
import Foundation
import SystemTesting
import Testing

@testable import edgeblue

/// The file that `edgeblue segments plot` writes, beside recordings that must not be harmed.
@Suite(
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct PictureFileTests {
  private let temporary: TemporaryFolder
  private let segment: FinishedSegment
  private let folder: String

  init() throws {
    temporary = try TemporaryFolder()
    folder = temporary.path + "/recordings"
    var recording = try Recording(SegmentFolder(path: folder, limits: .init(reserve: 0)))
    recording.play(frames: 200)
    recording.recorder.end(.shutdown, at: recording.moment)
    segment = try #require(try SegmentCatalog(path: folder).entries.first?.segment)
  }

  private func plot(_ arguments: String...) async throws -> Int32 {
    let words = ["segments", "plot", "--in", folder] + arguments
    return try await ChildProcess(program, words, output: .discarded, errors: .discarded).outcome().status
  }

  @Test("A recording that is named in place of a picture stays as it is") func aRecordingIsNeverReplaced() async throws
  {
    #expect(try await plot("-o", segment.path) == ExitStatus.badInput.rawValue)
    // The sidecar too, and anything else that ends like a picture.
    #expect(try await plot("-o", String(segment.path.dropLast(4)) + ".json") == ExitStatus.badInput.rawValue)
    let drawing = temporary.path + "/drawing.svg"
    try Data("<svg>somebody's own</svg>".utf8).write(to: URL(filePath: drawing))
    #expect(try await plot("-o", drawing) == ExitStatus.badInput.rawValue)
    #expect(try String(contentsOfFile: drawing, encoding: .utf8) == "<svg>somebody's own</svg>")
    try segment.verify()
  }

  @Test("The argument is the segment, also as a path, and its picture may be drawn again")
  func theSegmentComesFirst() async throws {
    let picture = temporary.path + "/it.svg"
    #expect(try await plot(segment.path, "-o", picture) == 0)
    #expect(try await plot("1", "-o", picture) == 0)
    let text = try String(contentsOfFile: picture, encoding: .utf8)
    #expect(text.contains("<title>Segment 1,"))
    try segment.verify()
  }

  @Test(
    "A name that ends in .png makes a PNG file",
    .enabled(if: ChildProcess.path(of: "rsvg-convert") != nil, "needs rsvg-convert: librsvg2-bin"))
  func pngIsPNG() async throws {
    let picture = temporary.path + "/it.png"
    #expect(try await plot("-o", picture) == 0)
    #expect(try await plot("-o", picture) == 0)
    let bytes = try Data(contentsOf: URL(filePath: picture))
    #expect(bytes.starts(with: [0x89, 0x50, 0x4e, 0x47]))
    let alien = temporary.path + "/alien.png"
    try Data(bytes.prefix(33) + bytes.dropFirst(33 + 43)).write(to: URL(filePath: alien))
    #expect(try await plot("-o", alien) == ExitStatus.badInput.rawValue)
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path
