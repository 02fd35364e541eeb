import Coverage
import DurableFiles
import Foundation
import Timing

/// A file for a picture, in the format that its name ends in: SVG, PNG by `rsvg-convert`, or for a map a page of HTML.
///
/// It replaces nothing but a picture that an earlier run has drawn: a mistaken name must not cost a recording.
struct PictureFile {
  private enum Format: String { case svg, png, html }

  /// The subject of a picture, by which a picture of an earlier run is known.
  enum Subject {
    /// A segment of a recording.
    case segment
    /// A speed test, or a loop of them.
    case speedTest
    /// A map of coverage.
    case coverage

    /// The beginning of the title of an SVG picture.
    fileprivate var title: String {
      switch self {
      case .segment: "Segment "
      case .speedTest: "Speed test"
      case .coverage: "Coverage: "
      }
    }

    /// A chunk of text behind the header of a PNG file, with its length and CRC-32.
    fileprivate var pngMark: [UInt8] {
      switch self {
      case .segment: [0, 0, 0, 31] + Array("tEXtSoftware\0edgeblue segments plot".utf8) + [0xe2, 0x57, 0x6d, 0x6f]
      case .speedTest: [0, 0, 0, 32] + Array("tEXtSoftware\0edgeblue speedtest plot".utf8) + [0xdf, 0xdb, 0x91, 0xb5]
      case .coverage: [0, 0, 0, 30] + Array("tEXtSoftware\0edgeblue coverage map".utf8) + [0xbb, 0xf2, 0xef, 0x7a]
      }
    }
  }

  let path: String
  private let format: Format
  private let subject: Subject

  /// The beginning of every SVG picture that this command has drawn.
  private static let svgMark = "<svg xmlns=\"http://www.w3.org/2000/svg\""
  /// The length of a PNG file's signature and header chunk, which every PNG file begins with.
  private static let pngHead = 33
  private static let program = "rsvg-convert"
  /// The timeout of the conversion, which takes a fraction of a second.
  private static let limit = Duration.seconds(60)
  private static let sizeLimit = 64 << 20

  /// - Throws: ``Failure`` if the name ends in none of the formats of the subject.
  init(_ path: String, of subject: Subject = .segment) throws {
    let format = Format(rawValue: URL(filePath: path).pathExtension.lowercased())
    guard let format, format != .html || subject == .coverage else {
      let names = subject == .coverage ? ".html, .svg or .png" : ".svg or .png"
      throw Failure(
        "\(path.printable) is no name of a picture; allowed: names that end in \(names)",
        hint: subject == .segment ? "-o names the picture, and the argument the segment" : nil, status: .badInput)
    }
    self.path = path
    self.format = format
    self.subject = subject
  }

  /// Refuses a file that exists and is no picture of this command.
  func checkIsReplaceable() throws {
    guard let bytes = try Disk().read(path, limit: 1024, followsLinks: true), !isDrawn(bytes) else { return }
    throw Failure(
      "\(path.printable) exists, and is no picture that this command has drawn", hint: "name another file",
      status: .badInput)
  }

  private func isDrawn(_ bytes: [UInt8]) -> Bool {
    let text = String(decoding: bytes, as: UTF8.self)
    return subject == .coverage && text.hasPrefix(CoverageMapPage.mark)
      || text.hasPrefix(Self.svgMark) && text.contains("<title>\(subject.title)")
      || bytes.dropFirst(Self.pngHead).starts(with: subject.pngMark)
  }

  /// A Boolean value that indicates whether the file is a page of HTML.
  var isPage: Bool { format == .html }

  /// Writes a page as a whole, or nothing.
  func write(page: Data) throws {
    try checkIsReplaceable()
    try WholeFile(path: path, limit: Self.sizeLimit).write(page)
  }

  /// Writes a picture as a whole, or nothing.
  /// - Parameter svg: The SVG document.
  func write(_ svg: String) async throws {
    try checkIsReplaceable()
    let bytes = format == .svg ? Data(svg.utf8) : try await png(of: svg)
    try WholeFile(path: path, limit: Self.sizeLimit).write(bytes)
  }

  private func png(of svg: String) async throws -> Data {
    let folder = FileManager.default.temporaryDirectory.appending(path: "edgeblue-plot-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    // What stays in the folder for temporary files is removed by the system.
    defer { try? FileManager.default.removeItem(at: folder) }
    let source = folder.appending(path: "picture.svg")
    let result = folder.appending(path: "picture.png")
    try Data(svg.utf8).write(to: source)
    try await Self.run(["--format", "png", "--output", result.path, source.path])
    let drawn = try Data(contentsOf: result)
    guard drawn.count > Self.pngHead else { throw Failure("\(Self.program) has drawn nothing", status: .failed) }
    var picture = Data(drawn.prefix(Self.pngHead))
    picture += subject.pngMark
    return picture + drawn.suffix(from: Self.pngHead)
  }

  private static func run(_ arguments: [String]) async throws {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin").split(separator: ":")
    let found = folders.map { "\($0)/\(program)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    guard let found else {
      throw Failure(
        "\(program), which draws PNG files, is not installed",
        hint: "install the package librsvg2-bin, or name a file that ends in .svg", status: .unavailable)
    }
    let process = Process()
    process.executableURL = URL(filePath: found)
    process.arguments = arguments
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    let (ends, source) = AsyncStream.makeStream(of: Int32.self)
    process.terminationHandler = {
      source.yield($0.terminationStatus)
      source.finish()
    }
    try process.run()
    defer { if process.isRunning { process.terminate() } }
    let status = try await TimeSource.continuous.withLimit(
      limit, orThrow: Failure("\(program) did not finish within \(limit)", status: .failed)
    ) {
      for await status in ends { return status }
      throw CancellationError()
    }
    guard status == 0 else { throw Failure("\(program) failed with status \(status)", status: .failed) }
  }
}
