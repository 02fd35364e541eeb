import AudioIngestTesting
import Foundation
import SystemTesting
import Testing

@testable import AudioIngest

@Suite("The export of recordings", .computing) struct SegmentExportTests {
  private let temporary: TemporaryFolder
  private let folder: String
  private let target: String

  /// Records 9 s in segments of 2 s, of which 0.5 s is lost in the third.
  init() throws {
    temporary = try TemporaryFolder()
    folder = temporary.path + "/recordings"
    target = temporary.path + "/out.wav"
    let recordings = try SegmentFolder(path: folder, limits: .init(reserve: 0))
    var recording = try Recording(recordings, SegmentRules(maximum: .seconds(2), quietSearch: .zero))
    recording.play(frames: 450)
    recording.lose(frames: 50)
    recording.play(frames: 400)
    recording.recorder.end(.shutdown, at: recording.moment)
  }

  private func catalog() throws -> SegmentCatalog { try SegmentCatalog(path: folder) }

  /// The samples of a WAV file.
  static func samples(_ path: String) throws -> (rate: Int, samples: [Int16]) {
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
    let header = try #require(WAVHeader(bytes))
    #expect(bytes.count == WAVHeader.length + header.dataBytes)
    let samples = bytes.dropFirst(WAVHeader.length).withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
    return (header.sampleRate, samples)
  }

  /// What was recorded, with the gap as it is in the segments.
  private func recorded() throws -> [Int16] { try catalog().entries.flatMap { try $0.segment.samples() } }

  @Test("Joined segments are what was recorded, sample for sample") func theJoinIsExact() throws {
    #expect(try catalog().entries.count == 5)
    let files = try SegmentExport(catalog(), .init(format: .wav)).write(joinedTo: target)
    let (rate, samples) = try Self.samples(target)
    #expect(rate == 16_000)
    #expect(samples == (try recorded()))
    #expect(samples[..<72_000] == Recording.ramp(0..<72_000)[...])
    #expect(samples[80_000...] == Recording.ramp(80_000..<144_000)[...])
    #expect(files.map(\.segments) == [[1, 2, 3, 4, 5]])
    #expect(files.map(\.samples) == [144_000])
    #expect(files[0].capturedAt == (try catalog().entries[0].segment.info.capture.iso8601))
    #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path).sorted() == ["out.wav", "recordings"])
  }

  @Test("A range of time is cut to the sample, across segments") func aRangeIsCut() throws {
    let start = try catalog().entries[0].segment.info.capture.unixMs
    var options = SegmentExport.Options(format: .wav)
    options.from = start + 1500
    options.to = start + 6250
    let file = try SegmentExport(catalog(), options).write(joinedTo: target)[0]
    #expect(try Self.samples(target).samples == Array(try recorded()[24_000..<100_000]))
    #expect(file.segments == [1, 2, 3, 4])
    options.from = start + 60_000
    options.to = nil
    #expect { try SegmentExport(catalog(), options) } throws: { ($0 as? AudioIngestError)?.code == .noSuchSegment }
  }

  @Test("Without a join each segment is a file with its name") func eachSegmentIsAFile() throws {
    let files = try SegmentExport(catalog(), .init(format: .wav)).write(into: temporary.path + "/new/files/")
    #expect(files.count == 5)
    for (file, entry) in zip(files, try catalog().entries) {
      #expect(file.path == "\(temporary.path)/new/files/\(entry.segment.info.name).wav")
      #expect(try Self.samples(file.path).samples == (try entry.segment.samples()))
    }
  }

  @Test("No file is replaced unless that is wanted, and none is written among the recordings")
  func nothingIsReplaced() throws {
    try Data("mine".utf8).write(to: URL(filePath: target))
    var options = SegmentExport.Options(format: .wav)
    func refuses(_ path: String) throws {
      #expect { try SegmentExport(catalog(), options).write(joinedTo: path) } throws: {
        ($0 as? AudioIngestError)?.code == .invalidArgument
      }
    }
    try refuses(target)
    #expect(try String(contentsOfFile: target, encoding: .utf8) == "mine")
    options.replacesFiles = true
    try refuses(try catalog().entries[0].segment.path)
    try refuses(folder + "/new.wav")
    let link = temporary.path + "/link"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder)
    try refuses(link + "/new.wav")
    #expect { try SegmentExport(catalog(), options).write(into: folder) } throws: {
      ($0 as? AudioIngestError)?.code == .invalidArgument
    }
    _ = try SegmentExport(catalog(), options).write(joinedTo: target)
    #expect(try Self.samples(target).samples.count == 144_000)
    for entry in try catalog().entries { try entry.segment.verify() }
  }

  @Test("A corrupt segment is an error, and leaves no file") func aCorruptSegmentIsRefused() throws {
    let file = try FileHandle(forUpdating: URL(filePath: try catalog().entries[2].segment.path))
    try file.seek(toOffset: 1000)
    try file.write(contentsOf: [1])
    #expect { try SegmentExport(catalog(), .init(format: .flac)).write(joinedTo: target) } throws: {
      ($0 as? AudioIngestError)?.code == .damagedFile
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path) == ["recordings"])
  }

  @Test("The open segment of a recorder is left out, and the recorder goes on") func aRecorderMayRun() throws {
    let recordings = try SegmentFolder(path: folder, limits: .init(reserve: 0))
    var recording = try Recording(recordings)
    recording.play(frames: 100)
    let before = try catalog()
    #expect(before.openCount == 1)
    #expect(try SegmentExport(before, .init(format: .wav)).write(joinedTo: target)[0].segments == [1, 2, 3, 4, 5])
    recording.play(frames: 100)
    recording.recorder.end(.shutdown, at: recording.moment)
    #expect(try catalog().entry("6").segment.samples() == Recording.ramp(0..<32_000))
  }

  @Test("Segments of two devices are not joined, unless one is chosen") func oneDeviceIsChosen() throws {
    let recordings = try SegmentFolder(path: folder, limits: .init(reserve: 0))
    let other = AudioDevice(address: "00:AA:01:00:00:43")
    let recorder = try StreamRecorder(other, .pcm8k, framing: .bare, into: recordings)
    for frame in 0..<100 {
      let now = Moment(instant: .milliseconds(frame * 10), wallMs: Recording.start + Int64(frame) * 10)
      recorder.receive([UInt8](repeating: 7, count: 160), at: now)
    }
    recorder.end(.shutdown, at: Moment(instant: .seconds(1), wallMs: Recording.start + 1000))
    #expect { try SegmentExport(catalog(), .init(format: .wav)).write(joinedTo: target) } throws: {
      ($0 as? AudioIngestError)?.code == .invalidArgument
    }
    var options = SegmentExport.Options(format: .wav)
    options.device = other.address.lowercased()
    options.sampleRate = 16_000
    let file = try SegmentExport(catalog(), options).write(joinedTo: target)[0]
    #expect(file.samples == 16_000)
    #expect(try Self.samples(target).samples.count == 16_000)
  }
}
