import AudioIngestTesting
import DurableFiles
import Foundation
import SystemTesting
import Testing

@testable import AudioIngest

/// Files that are written, read by decoders of others.
@Suite("Audio files", .computing) struct AudioFileTests {
  private let temporary: TemporaryFolder

  init() throws { temporary = try TemporaryFolder() }

  private func write(
    _ samples: [Int16], _ format: AudioFileFormat, rate: Int = 16_000, name: String = "it"
  ) throws -> String {
    let path = "\(temporary.path)/\(name).\(format.fileExtension)"
    let file = try AudioFile(path, format, sampleRate: rate, existing: .replaced, on: Disk())
    // In parts of odd sizes.
    for start in stride(from: 0, to: samples.count, by: 9999) {
      try file.append(Array(samples[start..<min(start + 9999, samples.count)]), rate: rate)
    }
    try file.finish()
    #expect(file.samples == samples.count)
    return path
  }

  /// Decodes a file with a program of others.
  private func decoded(_ program: String, _ arguments: String..., to raw: String) throws -> [Int16] {
    let process = try ChildProcess(program, arguments, output: .discarded)
    try #require(process.wait() == 0)
    return try Data(contentsOf: URL(filePath: raw)).withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
  }

  private static let sounds: [[Int16]] = [
    [], [1], [.min, .max, 0, -1], voiceLikeSound(samples: 100_001, rate: 16_000), Recording.ramp(0..<70_000),
  ]

  @Test(
    "FLAC is decoded by ffmpeg to the same samples",
    .enabled(if: ChildProcess.path(of: "ffmpeg") != nil, "needs ffmpeg"), arguments: sounds)
  func flacIsLossless(_ sound: [Int16]) throws {
    let path = try write(sound, .flac)
    let raw = temporary.path + "/raw"
    let arguments = ["-v", "error", "-xerror", "-err_detect", "explode", "-i", path, "-f", "s16le", raw]
    let process = try ChildProcess("ffmpeg", arguments, output: .discarded)
    // A file without samples is valid, and ffmpeg has nothing to write of it.
    try #require(process.wait() == 0 || sound.isEmpty)
    guard !sound.isEmpty else { return }
    let heard = try Data(contentsOf: URL(filePath: raw)).withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
    #expect(heard == sound)
  }

  @Test(
    "The MD5 and the length in a FLAC file are those of its samples",
    .enabled(if: ChildProcess.path(of: "flac") != nil, "needs flac"))
  func flacIsWhole() throws {
    let path = try write(Self.sounds[3], .flac)
    let test = try ChildProcess("flac", ["--test", "--warnings-as-errors", "--silent", path], output: .discarded)
    #expect(test.wait() == 0)
  }

  @Test(
    "Opus is decoded by opusdec to audio of the same length that sounds alike",
    .enabled(if: ChildProcess.path(of: "opusdec") != nil, "needs opusdec"))
  func opusSoundsAlike() throws {
    let sound = voiceLikeSound(samples: 160_007, rate: 16_000)
    let path = try write(sound, .opus)
    let heard = try decoded(
      "opusdec", "--quiet", "--rate", "48000", "--no-dither", path, temporary.path + "/raw", to: temporary.path + "/raw"
    )
    // Three samples at 48 kHz for each.
    #expect(heard.count == sound.count * 3)
    let again = (0..<sound.count).map { Double(heard[$0 * 3]) }
    let product = zip(sound, again).reduce(0) { $0 + Double($1.0) * $1.1 }
    let energies = (
      sound.reduce(0) { $0 + Double($1) * Double($1) }, again.reduce(0) { $0 + $1 * $1 }
    )
    #expect(product / (energies.0 * energies.1).squareRoot() > 0.95)
    let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    #expect(size < 45_000, "10 s at 24 kbit/s have 30,000 bytes")
  }

  @Test("The same samples make the same bytes", arguments: AudioFileFormat.allCases)
  func filesAreReproducible(_ format: AudioFileFormat) throws {
    let sound = voiceLikeSound(samples: 30_000, rate: 16_000)
    let one = try Data(contentsOf: URL(filePath: write(sound, format, name: "one")))
    let other = try Data(contentsOf: URL(filePath: write(sound, format, name: "other")))
    #expect(one == other)
  }

  @Test("A full disk is an error, and leaves no file", arguments: AudioFileFormat.allCases)
  func aFullDiskIsAnError(_ format: AudioFileFormat) throws {
    let faults = DiskFaults()
    let sound = Recording.ramp(0..<200_000)
    let path = temporary.path + "/it"
    let file = try AudioFile(path, format, sampleRate: 16_000, existing: .refused, on: faults.disk)
    faults.fail(faults.steps + 1...Int.max, with: ENOSPC)
    #expect {
      try file.append(sound, rate: 16_000)
      try file.finish()
    } throws: {
      ($0 as? AudioIngestError)?.code == .noSpace
    }
    faults.fail(nil, with: 0)
    file.discard()
    #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path) == [])
  }

  @Test("A file that another task has made in the last moment stays", arguments: [AudioFile.Existing.kept, .refused])
  func aFileOfTheLastMomentStays(_ existing: AudioFile.Existing) throws {
    let path = temporary.path + "/it"
    let disk = Disk { step, _ in
      if step == .rename { #expect(FileManager.default.createFile(atPath: path, contents: Data("theirs".utf8))) }
      return nil
    }
    let file = try AudioFile(path, .wav, sampleRate: 16_000, existing: existing, on: disk)
    try file.append(Recording.ramp(0..<160), rate: 16_000)
    if existing == .kept {
      try file.finish()
    } else {
      #expect(throws: AudioIngestError.self) { try file.finish() }
      file.discard()
    }
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "theirs")
    #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path) == ["it"])
  }
}
