internal import DurableFiles

extension SegmentFolder {
  /// Records the form in which segments are delivered, for every program that delivers them: WAV files in another form
  /// have a copy beside them, and stay until they are removed with it.
  /// - Throws: ``AudioIngestError``: `.invalidArgument` for a sample rate that may not be chosen, `.noSpace`, `.storage`.
  public func deliver(as delivery: AudioDelivery) throws(AudioIngestError) {
    if let rate = delivery.sampleRate, !AudioDelivery.sampleRates.contains(rate) {
      throw AudioIngestError(.invalidArgument, "a sample rate of \(rate) Hz; allowed: 8000 to 48000 Hz")
    }
    try storage(disk.replace(paths.delivery, with: Array(delivery.text.utf8), by: paths.delivery + ".new"))
  }
}

extension SegmentCatalog {
  /// Returns the form in which the folder's segments are delivered: that of the segments themselves, unless
  /// ``SegmentFolder/deliver(as:)`` has named another one.
  /// - Throws: ``AudioIngestError``: `.damagedFile` if the record is corrupt, `.storage`.
  public func delivery() throws(AudioIngestError) -> AudioDelivery {
    let path = SegmentPaths(root: path).delivery
    guard let bytes = try Disk().contents(of: path, limit: 64) else { return AudioDelivery() }
    guard let delivery = AudioDelivery(text: String(decoding: bytes, as: UTF8.self)) else {
      throw AudioIngestError(.damagedFile, "\(path) names no format", hint: "remove it, and start the recorder again")
    }
    return delivery
  }
}

extension FinishedSegment {
  /// Returns the path of the segment's file in a form; one in another form than that of the segment is made beside it,
  /// once. The sample rate is converted by libsoxr.
  ///
  /// The file is complete at every moment, and none is replaced. The same segment makes the same bytes, so that several
  /// tasks and programs may do this at the same time, and read the file meanwhile.
  /// - Throws: ``AudioIngestError``: `.damagedFile` if the WAV file is not the one that the sidecar describes, `.noSpace`,
  ///   `.storage`, `.codecFailed`.
  public func file(as delivery: AudioDelivery) throws(AudioIngestError) -> String {
    let target = path(as: delivery)
    let disk = Disk()
    if try storage(disk.exists(target)) { return target }
    let reader = try SegmentReader(self)
    let file = try AudioFile(
      target, delivery.format, sampleRate: delivery.sampleRate ?? info.sampleRate, existing: .kept, on: disk)
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

  /// Returns the path that the segment's file has in a form, whether it exists or not.
  ///
  /// A WAV file of another sample rate ends in `.wave`: what ends in `.wav` is a segment.
  public func path(as delivery: AudioDelivery) -> String {
    let stem = path.dropLast(3)
    guard let rate = delivery.sampleRate, rate != info.sampleRate else { return stem + delivery.format.fileExtension }
    return "\(stem)\(rate).\(delivery.format == .wav ? "wave" : delivery.format.fileExtension)"
  }

  /// The path of the segment's transcript, a text in UTF-8 that another program writes; the file may not exist.
  public var transcriptPath: String { String(path.dropLast(4)) + ".txt" }
}
