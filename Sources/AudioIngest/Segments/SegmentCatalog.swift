internal import Crypto
internal import DurableFiles

/// A list of the finished segments in a folder, for readers; a recorder may write into the folder at the same time.
///
/// ```swift
/// let catalog = try SegmentCatalog(path: "recordings")
/// for entry in catalog.entries where !entry.isDelivered {
///   try entry.segment.verify()
///   print(entry.segment.path, try entry.segment.samples().count)
/// }
/// ```
public struct SegmentCatalog: Sendable {
  /// A finished segment in the list.
  public struct Entry: Sendable, Hashable {
    /// The segment, with the contents of its sidecar.
    public var segment: FinishedSegment
    /// A Boolean value that indicates whether the segment was delivered.
    public var isDelivered: Bool
  }

  /// The path of the folder.
  public let path: String
  /// The finished segments, the oldest first.
  public private(set) var entries: [Entry] = []
  /// The errors of WAV files whose sidecar is missing, or does not describe them.
  public private(set) var problems: [AudioIngestError] = []
  /// The number of segments that are being written, or that a recorder left when it ended.
  public private(set) var openCount = 0

  /// Reads a folder and the sidecars in it.
  /// - Throws: ``AudioIngestError`` with code `.storage` if the folder cannot be read.
  public init(path: String) throws(AudioIngestError) {
    let disk = Disk()
    let paths = SegmentPaths(root: path)
    self.path = path
    let names = Set(try storage(disk.names(in: path)))
    for file in names.filter({ $0.hasSuffix(".wav") }).sorted() {
      let name = String(file.dropLast(4))
      do throws(AudioIngestError) {
        let bytes = try disk.contents(of: paths.sidecar(name), limit: SegmentJSON.limit)
        guard let info = bytes.flatMap(SegmentJSON.info), info.name == name else {
          throw AudioIngestError(.damagedFile, "\(paths.wav(name)) has no sidecar that describes it")
        }
        let segment = FinishedSegment(info: info, path: paths.wav(name))
        entries.append(Entry(segment: segment, isDelivered: names.contains(name + ".delivered")))
      } catch {
        problems.append(error)
      }
    }
    guard names.contains("open") else { return }
    openCount = try storage(disk.names(in: paths.open)).count { $0.hasSuffix(".part") }
  }

  /// Returns the entry with a number, or with the name of a file without its extension.
  /// - Throws: ``AudioIngestError`` with code `.noSuchSegment`.
  public func entry(_ name: String) throws(AudioIngestError) -> Entry {
    let found = entries.first { Int(name) == $0.segment.info.id || name == $0.segment.info.name }
    guard let found else { throw AudioIngestError(.noSuchSegment, "segment \(name) was not found in \(path)") }
    return found
  }
}

extension FinishedSegment {
  /// Returns the samples of the WAV file.
  /// - Throws: ``AudioIngestError``: `.damagedFile` if the file is not the one that the sidecar describes, `.storage`.
  public func samples() throws(AudioIngestError) -> [Int16] {
    let bytes = try Disk().contents(of: path, limit: WAVHeader.length + WAVHeader.longestData)
    guard let bytes, let header = WAVHeader(bytes), header.sampleRate == info.sampleRate,
      header.samples == info.samples, bytes.count == WAVHeader.length + header.dataBytes
    else { throw AudioIngestError(.damagedFile, "\(path) is not the WAV file that its sidecar describes") }
    return bytes.withUnsafeBytes { bytes in
      (0..<header.samples).map {
        Int16(littleEndian: bytes.loadUnaligned(fromByteOffset: WAVHeader.length + $0 * 2, as: Int16.self))
      }
    }
  }

  /// Compares the WAV file with the checksum in the sidecar.
  /// - Throws: ``AudioIngestError``: `.damagedFile` if they differ, `.storage`.
  public func verify() throws(AudioIngestError) {
    let bytes = try Disk().contents(of: path, limit: WAVHeader.length + WAVHeader.longestData) ?? []
    guard SHA256.hash(data: bytes).hexadecimal == info.measured.sha256 else {
      throw AudioIngestError(.damagedFile, "\(path) was changed since it was recorded")
    }
  }
}
