internal import DurableFiles

extension SegmentFolder {
  /// Records the format in which segments are delivered, for every program that delivers them: WAV files in another
  /// format have a copy beside them, and stay until they are removed with it.
  /// - Throws: ``AudioIngestError``: `.noSpace`, `.storage`.
  public func deliver(as format: AudioFileFormat) throws(AudioIngestError) {
    try storage(disk.replace(paths.delivery, with: Array(format.rawValue.utf8), by: paths.delivery + ".new"))
  }
}

extension SegmentCatalog {
  /// Returns the format in which the folder's segments are delivered; WAV unless
  /// ``SegmentFolder/deliver(as:)`` has named another one.
  /// - Throws: ``AudioIngestError``: `.damagedFile` if the record is corrupt, `.storage`.
  public func deliveryFormat() throws(AudioIngestError) -> AudioFileFormat {
    let path = SegmentPaths(root: path).delivery
    guard let bytes = try Disk().contents(of: path, limit: 64) else { return .wav }
    guard let format = AudioFileFormat(rawValue: String(decoding: bytes, as: UTF8.self)) else {
      throw AudioIngestError(.damagedFile, "\(path) names no format", hint: "remove it, and start the recorder again")
    }
    return format
  }
}

extension FinishedSegment {
  /// Returns the path of the segment's file in a format; one in another format than WAV is made beside it, once.
  ///
  /// The file is complete at every moment. The same segment makes the same bytes, so that several programs may do this
  /// at the same time.
  /// - Throws: ``AudioIngestError``: `.damagedFile` if the WAV file is not the one that the sidecar describes, `.noSpace`,
  ///   `.storage`, `.codecFailed`.
  public func file(as format: AudioFileFormat) throws(AudioIngestError) -> String {
    let target = path(as: format)
    let disk = Disk()
    if try storage(disk.exists(target)) { return target }
    let reader = try SegmentReader(self)
    let file = try AudioFile(target, format, sampleRate: info.sampleRate, replaces: true, on: disk)
    do throws(AudioIngestError) {
      for start in stride(from: 0, to: info.samples, by: SegmentReader.limit) {
        let range = start..<min(start + SegmentReader.limit, info.samples)
        try file.append(reader.samples(range), rate: info.sampleRate)
      }
      try file.finish()
    } catch {
      file.discard()
      throw error
    }
    return target
  }

  /// The path of the segment's transcript, a text in UTF-8 that another program writes; the file may not exist.
  public var transcriptPath: String { String(path.dropLast(4)) + ".txt" }

  /// Returns the path that the segment's file has in a format, whether it exists or not.
  public func path(as format: AudioFileFormat) -> String { String(path.dropLast(3)) + format.fileExtension }
}
