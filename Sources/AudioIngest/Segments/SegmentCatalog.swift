internal import Crypto

/// The finished segments of a folder, for who looks at them; a recorder may be at work there meanwhile.
public struct SegmentCatalog: Sendable {
  /// A finished segment as it is listed.
  public struct Entry: Sendable, Hashable {
    /// What its sidecar says.
    public var segment: FinishedSegment
    /// Whether it was delivered.
    public var isDelivered: Bool
  }

  /// Where the segments are.
  public let path: String
  /// Their entries, the oldest first.
  public private(set) var entries: [Entry] = []
  /// WAV files whose sidecar is missing or does not belong to them, and what is wrong.
  public private(set) var problems: [AudioIngestError] = []
  /// How many segments are being written, or were when a recorder ended.
  public private(set) var openCount = 0

  /// Reads a folder.
  /// - Throws: ``AudioIngestError`` with code `.storage` when it cannot be read.
  public init(path: String) throws(AudioIngestError) {
    let (disk, paths) = (Disk(), SegmentPaths(root: path))
    self.path = path
    let names = Set(try disk.names(in: path))
    for file in names.filter({ $0.hasSuffix(".wav") }).sorted() {
      let name = String(file.dropLast(4))
      do throws(AudioIngestError) {
        let bytes = try disk.read(paths.sidecar(name), limit: SegmentJSON.limit)
        guard let info = bytes.flatMap(SegmentJSON.info), info.name == name else {
          throw AudioIngestError(.damagedFile, "\(paths.wav(name)) has no sidecar that describes it")
        }
        let segment = FinishedSegment(info: info, path: paths.wav(name))
        entries.append(Entry(segment: segment, isDelivered: names.contains(name + ".delivered")))
      } catch {
        problems.append(error)
      }
    }
    if names.contains("open") { openCount = try disk.names(in: paths.open).count { $0.hasSuffix(".part") } }
  }

  /// Finds a segment by its number, or by the name of its file.
  /// - Throws: ``AudioIngestError`` with code `.noSuchSegment`.
  public func entry(_ name: String) throws(AudioIngestError) -> Entry {
    let found = entries.first { Int(name) == $0.segment.info.id || name == $0.segment.info.name }
    guard let found else { throw AudioIngestError(.noSuchSegment, "there is no segment \(name) in \(path)") }
    return found
  }
}

extension FinishedSegment {
  /// Reads the samples.
  /// - Throws: ``AudioIngestError``: `.damagedFile` when the file is not what the sidecar says, `.storage`.
  public func samples() throws(AudioIngestError) -> [Int16] {
    let bytes = try Disk().read(path, limit: WAVHeader.length + WAVHeader.longestData)
    guard let bytes, let header = WAVHeader(bytes), header.sampleRate == info.sampleRate,
      header.samples == info.samples, bytes.count == WAVHeader.length + header.dataBytes
    else { throw AudioIngestError(.damagedFile, "\(path) is not the WAV file that its sidecar describes") }
    return bytes.withUnsafeBytes { bytes in
      (0..<header.samples).map {
        Int16(littleEndian: bytes.loadUnaligned(fromByteOffset: WAVHeader.length + $0 * 2, as: Int16.self))
      }
    }
  }

  /// Whether the file is the one whose sum the sidecar has.
  /// - Throws: ``AudioIngestError``: `.damagedFile`, `.storage`.
  public func verify() throws(AudioIngestError) {
    let bytes = try Disk().read(path, limit: WAVHeader.length + WAVHeader.longestData) ?? []
    guard SHA256.hash(data: bytes).hexadecimal == info.sha256 else {
      throw AudioIngestError(.damagedFile, "\(path) was changed since it was recorded")
    }
  }
}
