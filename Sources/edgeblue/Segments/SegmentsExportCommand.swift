import ArgumentParser
import AudioIngest
import BlueZ
import Foundation
import JSONValues

/// `edgeblue segments export`
struct SegmentsExportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Write the audio of a time range as WAV, FLAC or Opus files.",
    discussion: """
      Without --join each segment becomes a file of its own. With --join all of them become one: they follow each other \
      to the sample, the pauses between them are silence (or left out, with --pauses closed), and what the wearable had \
      stored takes the place of the pauses and gaps that it fills. A joined file begins with the first sample that was \
      recorded in the range.

      Only finished segments are exported, also while a recorder runs; the open one is not. A corrupt segment is named and \
      left out, with --join its time is a pause, and the exit status is 70. No file is replaced without \
      --replace, and none is written into the folder of the recordings. The range has \(RecordingTime.help).

      EXAMPLES
        edgeblue segments export --from 08:00 --to 12:30 --join -o morning.flac
        edgeblue segments export --from 2026-11-22 --to 2026-11-23 --format opus -o sunday
        edgeblue segments export --join --rate 16000 --pauses closed -o speech.wav
      """)

  /// What becomes of the time between two segments.
  enum Pauses: String, CaseIterable, ExpressibleByArgument { case kept, closed }

  @Option(
    help: ArgumentHelp("The first instant. Default: the start of the first segment.", valueName: "time"),
    transform: reading("a time: \(RecordingTime.help)") { RecordingTime($0) })
  var from: RecordingTime?
  @Option(
    help: ArgumentHelp("The instant behind the last one. Default: the end of the last segment.", valueName: "time"),
    transform: reading("a time: \(RecordingTime.help)") { RecordingTime($0) })
  var to: RecordingTime?
  @Option(
    help: ArgumentHelp("The format. Default: the end of the name in -o, else wav.", valueName: "wav|flac|opus"),
    completion: .words(AudioFileFormat.self), transform: named)
  var format: AudioFileFormat?
  @Option(
    help: ArgumentHelp("The sample rate, 8000 to 48000 Hz. Default: that of the segments.", valueName: "hertz"))
  var rate: Int?
  @Flag(help: "Write one file with all segments.") var join = false
  @Option(
    help: ArgumentHelp(
      "With --join: keep the time between segments as silence (the default), or close it.", valueName: "kept|closed"))
  var pauses: Pauses?
  @Option(
    help: ArgumentHelp("The address of the wearable. Default: all of the folder.", valueName: "address"),
    transform: reading("a Bluetooth address") { BluetoothAddress($0) })
  var wearable: BluetoothAddress?
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "The file to write with --join, else the folder for the files. Default: the segments' names, in the present folder.",
      valueName: "path"), completion: .file())
  var output: String?
  @Flag(help: "Replace files that exist.") var replace = false
  @OptionGroup var recordings: RecordingsOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    if let from, let to, from.unixMs >= to.unixMs { throw ValidationError("--from has to be before --to.") }
    try checkRange(of: "--rate", rate, 8000...48_000, unit: "Hz")
    guard join else {
      if pauses != nil { throw ValidationError("--pauses belongs to --join.") }
      return
    }
    guard let output else { return }
    guard let end = AudioFileFormat(rawValue: URL(filePath: output).pathExtension.lowercased()) else {
      throw ValidationError("-o names a file that ends in .wav, .flac or .opus.")
    }
    if let format, format != end {
      throw ValidationError("-o ends in .\(end.rawValue), and --format is \(format.rawValue).")
    }
  }

  func run() async throws {
    try await common.run { terminal in
      let catalog = try SegmentCatalog.open(recordings)
      let export = try SegmentExport(catalog, options)
      let target = output ?? (join ? "\(export.name).\(options.format.fileExtension)" : ".")
      let (files, corrupt) = try await untilInterrupted { [join] in
        var corrupt: [AudioIngestError] = []
        let files =
          try join
          ? export.write(joinedTo: target) { corrupt.append($0) } : export.write(into: target) { corrupt.append($0) }
        return (files, corrupt)
      }
      let problems = catalog.problems + corrupt
      if terminal.json {
        terminal.print(
          json: .object([
            "files": .array(files.map(\.json)), "problems": .array(problems.map { .string($0.message) }),
            "open": .number(catalog.openCount),
          ]))
      }
      for line in files.flatMap(\.lines) + problems.flatMap(\.lines) { terminal.say(line) }
      if catalog.openCount > 0, to == nil { terminal.say("The segment that is being recorded is not exported yet.") }
      guard problems.isEmpty else {
        throw Failure(
          "\(problems.count) corrupt segment\(problems.count == 1 ? " is" : "s are") left out",
          hint: "the rest is exported; restore them from a copy, such as an upload, or remove them with their sidecars",
          status: .failed)
      }
    }
  }

  private var options: SegmentExport.Options {
    let end = join ? output.flatMap { AudioFileFormat(rawValue: URL(filePath: $0).pathExtension.lowercased()) } : nil
    var options = SegmentExport.Options(format: format ?? end ?? .wav)
    options.sampleRate = rate
    options.from = from?.unixMs
    options.to = to?.unixMs
    options.device = wearable?.description
    options.keepsPauses = pauses != .closed
    options.replacesFiles = replace
    return options
  }
}

extension SegmentExport.File {
  /// The file and its contents, for display: below each other where the two do not fit the 80 columns of a terminal.
  fileprivate var lines: [String] {
    let numbers = segments.count == 1 ? "segment \(segments[0])" : "\(segments.count) segments"
    let contents = "\(numbers), \(Amounts.clock(duration, digits: 3)), from \(capturedAt)"
    let line = "\(path.printable): \(contents)"
    return line.columns <= 80 ? [line] : ["\(path.printable):", "  " + contents]
  }

  fileprivate var json: JSONValue {
    .object([
      "path": .string(path), "sampleRate": .number(sampleRate), "samples": .number(samples),
      "duration": .number(duration), "capturedAt": .string(capturedAt),
      "segments": .array(segments.map { .number($0) }),
    ])
  }
}
