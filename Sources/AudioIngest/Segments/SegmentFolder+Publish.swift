internal import Crypto
internal import DurableFiles

extension SegmentFolder {
  /// Completes a part: writes its header, measures it, writes the sidecar, and moves both into the folder.
  ///
  /// Every step can be repeated: after a crash all of them are.
  /// - Parameters:
  ///   - info: The description of the segment.
  ///   - end: The position from which on the samples are in another segment; they are removed here.
  /// - Returns: `nil` if the part has no samples; its files are then removed.
  func publish(_ info: SegmentInfo, end: Int? = nil) throws(AudioIngestError) -> FinishedSegment? {
    let name = info.name
    var info = info
    if let end { info.end(at: end) }
    let late = info.gaps.filter { $0.isLate == true }
    if let end {
      let part = try storage(GrowingFile(paths.part(name), on: disk, isContinued: true))
      let length = WAVHeader.length + (end - late.reduce(0) { $0 + $1.samples }) * 2
      if part.length > length { try storage(part.truncate(to: length)) }
    }
    let path = late.isEmpty ? paths.part(name) : try spread(name, late)
    let file = try storage(GrowingFile(path, on: disk, isContinued: true))
    let samples = min(file.length - WAVHeader.length, WAVHeader.longestData) / 2
    guard samples > 0 else {
      try removeOpen(name)
      return nil
    }
    let header = WAVHeader(sampleRate: info.sampleRate, dataBytes: samples * 2)
    // A crash or a full disk may have left half of a sample.
    try storage(file.truncate(to: WAVHeader.length + header.dataBytes))
    try storage(file.overwrite(header.bytes))
    try storage(file.sync())

    var finished = info
    finished.fit(to: samples)
    finished.measured = try measure(file)
    let sidecar = SegmentJSON.bytes(finished, pretty: true)
    try storage(disk.replace(paths.sidecar(name), with: sidecar, by: paths.draft(name)))
    try storage(disk.rename(path, to: paths.wav(name)))
    try storage(disk.sync(folder: self.path))
    if !late.isEmpty { try storage(disk.remove(paths.part(name))) }
    try storage(disk.remove(paths.log(name)))
    return FinishedSegment(info: finished, path: paths.wav(name))
  }

  /// Writes a part again, with silence in the gaps that were found late.
  /// - Parameter late: The gaps, in order.
  /// - Returns: The path of the new file.
  private func spread(_ name: String, _ late: [AudioGap]) throws(AudioIngestError) -> String {
    let part = try storage(GrowingFile(paths.part(name), on: disk, isContinued: true))
    let new = try storage(GrowingFile(paths.spread(name), on: disk))
    var offset = 0
    var added = 0
    func copy(to end: Int) throws(AudioIngestError) {
      while offset < end {
        let count = min(end - offset, 65_536)
        let bytes = try part.bytes(at: offset, count)
        try storage(new.append(bytes))
        offset += count
      }
    }
    for gap in late {
      let place = WAVHeader.length + (gap.start - added) * 2
      // A crash has lost the samples before the gap.
      guard place <= part.length else { break }
      try copy(to: place)
      var rest = gap.samples
      while rest > 0 {
        let count = min(rest, 32_768)
        try storage(new.append([Int16](repeating: 0, count: count)))
        rest -= count
      }
      added += gap.samples
    }
    try copy(to: part.length)
    return new.path
  }

  /// Returns the checksum and the level of a file, as its readers will see it.
  private func measure(_ file: GrowingFile) throws(AudioIngestError) -> SegmentInfo.Measurement {
    var sum = SHA256()
    var level = SoundLevel()
    var offset = 0
    while case let bytes = try storage(file.read(at: offset, 65_536)), !bytes.isEmpty {
      bytes.withUnsafeBytes { bytes in
        sum.update(bufferPointer: bytes)
        let header = min(offset == 0 ? WAVHeader.length : 0, bytes.count)
        level.add(UnsafeRawBufferPointer(rebasing: bytes[header...]).samples)
      }
      offset += bytes.count
    }
    return SegmentInfo.Measurement(
      peak: level.peak.tenths, rms: level.rms.tenths, sha256: sum.finalize().hexadecimal)
  }
}

extension SHA256Digest {
  /// The digest with two hexadecimal digits for each byte.
  var hexadecimal: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}

extension UnsafeRawBufferPointer {
  /// The complete samples in native byte order: EdgeBlue runs on little-endian machines.
  fileprivate var samples: UnsafeBufferPointer<Int16> {
    UnsafeBufferPointer(start: baseAddress?.assumingMemoryBound(to: Int16.self), count: count / 2)
  }
}

extension Double {
  /// The value rounded to a tenth: more digits of a level have no meaning.
  fileprivate var tenths: Double { (self * 10).rounded() / 10 }
}
