internal import DurableFiles
internal import Timing

/// A file of the notifications of an unsupported codec: a line each, with the milliseconds since the first one and the
/// bytes in hexadecimal.
package final class RawFile {
  /// The largest size in bytes: three hours of Opus.
  static let limit = 128 << 20
  /// The time between a failure and the next attempt to open a file.
  package static let retryInterval = Duration.seconds(1)

  private let file: GrowingFile
  private var waiting: [UInt8] = []
  private var start: Duration?

  init(_ path: String, _ disk: Disk) throws(AudioIngestError) { file = try storage(GrowingFile(path, on: disk)) }

  /// Appends a notification.
  /// - Throws: ``AudioIngestError``: `.noSpace` if the file has reached its limit or the disk is full, `.storage`.
  package func append(_ value: [UInt8], at instant: Duration) throws(AudioIngestError) {
    let milliseconds = (instant - (start ?? instant)).milliseconds(rounded: .toNearest)
    start = start ?? instant
    waiting += Array("\(milliseconds) ".utf8)
    for byte in value { waiting += [Self.digits[Int(byte >> 4)], Self.digits[Int(byte & 15)]] }
    waiting.append(UInt8(ascii: "\n"))
    if waiting.count >= 4096 { try flush() }
  }

  /// Writes the waiting lines to the disk.
  /// - Throws: ``AudioIngestError``: `.noSpace` if the file has reached its limit or the disk is full, `.storage`.
  package func flush() throws(AudioIngestError) {
    guard file.length + waiting.count <= Self.limit else {
      waiting.removeAll()
      throw AudioIngestError(.noSpace, "\(file.path) has reached its limit of \(Self.limit) bytes")
    }
    guard !waiting.isEmpty else { return }
    try storage(file.append(waiting))
    waiting.removeAll(keepingCapacity: true)
    try storage(file.sync())
  }

  private static let digits = Array("0123456789abcdef".utf8)
}
