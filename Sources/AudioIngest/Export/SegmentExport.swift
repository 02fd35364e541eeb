internal import DurableFiles
import Glibc

/// An export of the recordings of a time range, as one audio file for each segment or as one for all of them.
///
/// It reads finished segments only, so that it works while a recorder writes into the folder, and needs memory for
/// their sidecars and some seconds of audio.
///
/// ```swift
/// let catalog = try SegmentCatalog(path: "recordings")
/// var options = SegmentExport.Options(format: .flac)
/// options.sampleRate = 16_000
/// for file in try SegmentExport(catalog, options).write(joinedTo: "day.flac") {
///   print(file.path, file.duration, "s of segments", file.segments)
/// }
/// ```
public struct SegmentExport: Sendable {
  /// The options of an export: the time range, the format and the treatment of pauses.
  public struct Options: Sendable, Hashable {
    /// The format of the files.
    public var format: AudioFileFormat
    /// The number of samples per second, 8000 to 48,000; `nil` for that of the segments.
    public var sampleRate: Int?
    /// The first instant, in Unix milliseconds; `nil` for the first that was recorded.
    public var from: Int64?
    /// The instant behind the last one, in Unix milliseconds; `nil` for the end of what was recorded.
    public var to: Int64?
    /// The address of the device whose segments are exported; `nil` for all of them.
    public var device: String?
    /// A Boolean value that indicates whether the pauses between joined segments become silence; else they are left out.
    public var keepsPauses = true
    /// A Boolean value that indicates whether existing files may be replaced.
    public var replacesFiles = false

    /// Creates options for everything, at the segments' sample rate.
    public init(format: AudioFileFormat) { self.format = format }
  }

  /// A file that was written.
  public struct File: Sendable, Hashable {
    /// The path of the file.
    public var path: String
    /// The number of samples per second.
    public var sampleRate: Int
    /// The number of samples of the file, of one channel.
    public var samples: Int
    /// The time at which the first sample was captured, in UTC, in the format of ISO 8601.
    public var capturedAt: String
    /// The numbers of the segments whose samples are in the file.
    public var segments: [Int]

    /// The duration of the samples, in seconds.
    public var duration: Double { Double(samples) / Double(sampleRate) }
  }

  /// A segment, and the samples of it that are exported.
  private struct Selection {
    let segment: FinishedSegment
    let range: Range<Int>
  }

  /// The longest joined file: a clock that jumped must not become years of silence.
  private static let longestHours = 168

  private let folder: String
  private let options: Options
  private let selected: [Selection]
  private let disk = Disk()

  /// The name of the first segment, without an extension.
  public var name: String { selected[0].segment.info.name }

  /// Creates an export of the segments in the range of its options.
  /// - Throws: ``AudioIngestError``: `.noSuchSegment` if nothing was recorded in the range, `.invalidArgument`.
  public init(_ catalog: SegmentCatalog, _ options: Options) throws(AudioIngestError) {
    if let rate = options.sampleRate, !AudioDelivery.sampleRates.contains(rate) {
      throw AudioIngestError(.invalidArgument, "a sample rate of \(rate) Hz; allowed: 8000 to 48000 Hz")
    }
    folder = catalog.path
    self.options = options
    selected = catalog.entries.map(\.segment)
      .filter { options.device == nil || options.device?.lowercased() == $0.info.device.address.lowercased() }
      .map { Selection(segment: $0, range: $0.info.samples(from: options.from ?? .min, to: options.to ?? .max)) }
      .filter { !$0.range.isEmpty }
      .sorted {
        ($0.segment.info.capture.unixMs, $0.segment.info.id) < ($1.segment.info.capture.unixMs, $1.segment.info.id)
      }
    guard !selected.isEmpty else {
      let isChosen = options.from != nil || options.to != nil || options.device != nil
      throw AudioIngestError(
        .noSuchSegment,
        "\(catalog.path) has no finished segment\(isChosen ? " of this time and device" : "")")
    }
  }

  /// Writes a file for each segment, named like the segment, into a folder, which is created if it does not exist.
  /// - Parameters:
  ///   - target: The path of the folder.
  ///   - report: A closure that is called with the error of each segment that is corrupt or cannot be read, which is then
  ///     left out; `nil` to throw the error.
  /// - Throws: ``AudioIngestError``: `.invalidArgument` if a file exists or the folder lies in that of the recordings,
  ///   `.damagedFile`, `.noSpace`, `.storage`, `.codecFailed`. Files that were complete before stay.
  public func write(into target: String, report: ((AudioIngestError) -> Void)? = nil) throws -> [File] {
    let path = target.count > 1 && target.hasSuffix("/") ? String(target.dropLast()) : target
    let targets = selected.map { "\(path)/\($0.segment.info.name).\(options.format.fileExtension)" }
    // Before the folder is created, and again with the folder's real path.
    try checkPlace(path)
    try storage(disk.createFolder(path))
    for target in targets { try check(target) }
    return try zip(selected, targets).compactMap { selection, target in
      guard let reader = try opened(selection, report) else { return nil }
      return try write(
        [.samples(0, selection.range)], of: [selection], pauseRate: selection.segment.info.sampleRate, to: target
      ) { _ in reader }
    }
  }

  /// Writes one file with the audio of all segments in the order of their capture.
  /// - Parameters:
  ///   - target: The path of the file.
  ///   - report: A closure that is called with the error of each segment that is corrupt or cannot be read, whose time is
  ///     then treated as a pause; `nil` to throw the error.
  /// - Throws: ``AudioIngestError``: `.invalidArgument` if the file exists or lies among the recordings, if the segments
  ///   are of several devices, or if the file would be too long; `.damagedFile`, also if no segment can be read;
  ///   `.noSpace`, `.storage`, `.codecFailed`.
  public func write(joinedTo target: String, report: ((AudioIngestError) -> Void)? = nil) throws -> [File] {
    try check(target)
    let devices = Set(selected.map(\.segment.info.device.address)).sorted()
    guard devices.count == 1 else {
      throw AudioIngestError(
        .invalidArgument, "segments of several devices cannot be joined: \(devices.joined(separator: ", "))",
        hint: "choose one of them")
    }
    let plan = try SegmentJoin(selected.map(\.segment.info), selected.map(\.range))
    let pieces = plan.pieces(keepsPauses: options.keepsPauses)
    try checkLength(pieces, plan.rate)
    var failed: Set<Int> = []
    let file = try write(pieces, of: selected, pauseRate: plan.rate, to: target) { index in
      // A segment may have several pieces.
      guard !failed.contains(index) else { return nil }
      let reader = try opened(selected[index], report)
      if reader == nil { failed.insert(index) }
      return reader
    }
    return [file]
  }

  /// Opens a segment, and compares it with its checksum.
  /// - Returns: `nil` if that fails, and the error was reported.
  private func opened(
    _ selection: Selection, _ report: ((AudioIngestError) -> Void)?
  ) throws(AudioIngestError) -> SegmentReader? {
    do throws(AudioIngestError) {
      return try SegmentReader(selection.segment)
    } catch {
      guard let report else { throw error }
      report(error)
      return nil
    }
  }

  /// Refuses a file that would harm others, before anything is written.
  private func check(_ target: String) throws(AudioIngestError) {
    let slash = target.lastIndex(of: "/")
    try checkPlace(slash.map { String(target[...$0]) } ?? ".")
    if !options.replacesFiles { try AudioFile.refuseExisting(target, disk) }
  }

  /// Refuses a folder among the recordings, which need not exist yet.
  private func checkPlace(_ path: String) throws(AudioIngestError) {
    guard let recordings = Self.real(folder), let place = Self.nearest(path),
      (place + "/").hasPrefix(recordings + "/")
    else { return }
    throw AudioIngestError(
      .invalidArgument, "\(path) lies in the folder of the recordings, whose files are the segments",
      hint: "choose another folder")
  }

  /// Returns the real path of a folder or, if it does not exist, of the nearest one above it that does.
  private static func nearest(_ path: String) -> String? {
    var path = Substring(path)
    while true {
      if let real = real(path.isEmpty ? "." : String(path)) { return real }
      while path.hasSuffix("/") { path.removeLast() }
      guard let slash = path.lastIndex(of: "/") else { return real(".") }
      path = path[...slash]
    }
  }

  private static func real(_ path: String) -> String? {
    guard let real = realpath(path, nil) else { return nil }
    defer { free(real) }
    return String(cString: real)
  }

  private func checkLength(_ pieces: [SegmentJoin.Piece], _ rate: Int) throws(AudioIngestError) {
    let seconds = pieces.reduce(0) { sum, piece in
      switch piece {
      case .samples(let index, let range): sum + Double(range.count) / Double(selected[index].segment.info.sampleRate)
      case .pause(let count): sum + Double(count) / Double(rate)
      }
    }
    let hint = "leave out the pauses, or export a shorter range"
    guard seconds <= Double(Self.longestHours * 3600) else {
      throw AudioIngestError(
        .invalidArgument, "the file would have \(Int(seconds / 3600)) h; allowed: \(Self.longestHours) h", hint: hint)
    }
    let bytes = seconds * Double(options.sampleRate ?? rate) * 2
    guard options.format != .wav || bytes <= Double(WAVHeader.longestData) else {
      throw AudioIngestError(
        .invalidArgument, "the file would be longer than a WAV file can be, 4 GiB", hint: "choose FLAC, or \(hint)")
    }
  }

  /// Writes a file.
  /// - Parameter reader: Opens the segment with an index; `nil` if it cannot be read.
  private func write(
    _ pieces: [SegmentJoin.Piece], of selection: [Selection], pauseRate: Int, to target: String,
    reader: (Int) throws -> SegmentReader?
  ) throws -> File {
    let rate = options.sampleRate ?? pauseRate
    let file = try AudioFile(
      target, options.format, sampleRate: rate, existing: options.replacesFiles ? .replaced : .refused, on: disk)
    var segments: [Int] = []
    var start: Int64?
    do {
      var open: (index: Int, reader: SegmentReader?)?
      for piece in pieces {
        switch piece {
        case .pause(let count): try Self.addSilence(count, pauseRate, to: file)
        case .samples(let index, let range):
          let info = selection[index].segment.info
          if open?.index != index { open = (index, try reader(index)) }
          let source = open?.reader
          guard source != nil || options.keepsPauses else { continue }
          start = start ?? info.capture.unixMs + Int64(range.lowerBound * 1000 / info.sampleRate)
          guard let source else {
            try Self.addSilence(range.count, info.sampleRate, to: file)
            continue
          }
          if !segments.contains(info.id) { segments.append(info.id) }
          try Self.parts(of: range) { try file.append(source.samples($0), rate: info.sampleRate) }
        }
      }
      guard !segments.isEmpty else {
        throw AudioIngestError(.damagedFile, "no segment in this range can be read")
      }
      try file.finish()
    } catch {
      file.discard()
      throw error
    }
    return File(
      path: target, sampleRate: rate, samples: file.samples, capturedAt: CaptureTime(start ?? 0).iso8601,
      segments: segments)
  }

  private static func addSilence(_ count: Int, _ rate: Int, to file: AudioFile) throws {
    try parts(of: 0..<count) { try file.append([Int16](repeating: 0, count: $0.count), rate: rate) }
  }

  /// Calls a closure for parts of a range that fit into memory, until the task is cancelled.
  private static func parts(of range: Range<Int>, _ body: (Range<Int>) throws -> Void) throws {
    var start = range.lowerBound
    while start < range.upperBound {
      try Task.checkCancellation()
      let end = min(start + SegmentReader.limit, range.upperBound)
      try body(start..<end)
      start = end
    }
  }
}
