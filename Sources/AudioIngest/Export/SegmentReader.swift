internal import Crypto
internal import DurableFiles
internal import Glibc

/// A reader of a segment's samples, a part at a time.
struct SegmentReader {
  /// The largest number of samples that is read at once.
  static let limit = 32_768

  private let path: String
  private let file: ReadableFile

  /// Opens a segment, and compares its file with the sidecar.
  /// - Throws: ``AudioIngestError``: `.damagedFile` if the file is not the one that the sidecar describes, `.storage`.
  init(_ segment: FinishedSegment) throws(AudioIngestError) {
    path = segment.path
    file = try storage(ReadableFile(segment.path, followsLinks: false))
    guard file.isRegular else {
      throw AudioIngestError(FileError("opening \(segment.path)", errno: EINVAL))
    }
    let info = segment.info
    var sum = SHA256()
    var offset = 0
    while case let bytes = try bytes(at: offset, Self.limit * 2), !bytes.isEmpty {
      if offset == 0 {
        guard let header = WAVHeader(bytes), header.sampleRate == info.sampleRate, header.samples == info.samples else {
          break
        }
      }
      sum.update(data: bytes)
      offset += bytes.count
    }
    guard offset == WAVHeader.length + info.samples * 2, sum.finalize().hexadecimal == info.measured.sha256 else {
      throw AudioIngestError(
        .damagedFile, "\(path) is not the WAV file that its sidecar describes",
        hint: "restore it from a copy, such as an upload, or remove it with its sidecar")
    }
  }

  /// Returns the samples of a range, at most ``limit`` of them.
  /// - Throws: ``AudioIngestError``: `.damagedFile` if the file ends before, `.storage`.
  func samples(_ range: Range<Int>) throws(AudioIngestError) -> [Int16] {
    let bytes = try bytes(at: WAVHeader.length + range.lowerBound * 2, range.count * 2)
    guard bytes.count == range.count * 2 else {
      throw AudioIngestError(.damagedFile, "\(path) became shorter while it was read")
    }
    return bytes.withUnsafeBytes { bytes in
      (0..<range.count).map { Int16(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 2, as: Int16.self)) }
    }
  }

  /// Returns the bytes at an offset, fewer at the end of the file.
  private func bytes(at offset: Int, _ count: Int) throws(AudioIngestError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let position = offset + done
      let got = try bytes.withUnsafeMutableBufferPointer { buffer throws(AudioIngestError) in
        let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[done...])
        return try storage(file.read(rest, at: Int64(position)))
      }
      if got == 0 { break }
      done += got
    }
    return Array(bytes.prefix(done))
  }
}
