/// Notifications of a codec that nobody here knows, as they came: a line each, with the milliseconds since the first
/// and the bytes in hexadecimal.
final class RawFile {
  /// Three hours of Opus.
  static let limit = 128 << 20

  private let file: DiskFile
  private var waiting: [UInt8] = []
  private var start: Duration?

  init(_ path: String, _ disk: Disk) throws(AudioIngestError) { file = try DiskFile(path, disk) }

  /// - Throws: ``AudioIngestError``: `.noSpace` when the file has its limit, or the disk is full; `.storage`.
  func append(_ value: [UInt8], at instant: Duration) throws(AudioIngestError) {
    let milliseconds = (instant - (start ?? instant)).wholeMilliseconds
    start = start ?? instant
    waiting += Array("\(milliseconds) ".utf8)
    for byte in value { waiting += [Self.digits[Int(byte >> 4)], Self.digits[Int(byte & 15)]] }
    waiting.append(UInt8(ascii: "\n"))
    if waiting.count >= 4096 { try flush() }
  }

  func flush() throws(AudioIngestError) {
    guard file.length + waiting.count <= Self.limit else {
      waiting.removeAll()
      throw AudioIngestError(.noSpace, "\(file.path) has its \(Self.limit) bytes")
    }
    guard !waiting.isEmpty else { return }
    try file.append(waiting)
    waiting.removeAll(keepingCapacity: true)
    try file.sync()
  }

  private static let digits = Array("0123456789abcdef".utf8)
}
