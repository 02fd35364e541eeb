internal import Crypto
import Glibc

extension SegmentFolder {
  /// Gives a part its header, measures it, writes the sidecar, and lets both appear in the folder.
  ///
  /// Every step can be done again: whoever finds the part begins anew.
  /// - Returns: `nil` when there is no sample in it; its files are then gone.
  func publish(_ info: SegmentInfo) throws(AudioIngestError) -> FinishedSegment? {
    let name = info.name
    let late = info.gaps.filter { $0.isLate == true }
    let path = late.isEmpty ? paths.part(name) : try spread(name, late)
    try disk.check(.open, path)
    let file = open(path, O_RDWR | O_CLOEXEC)
    guard file >= 0 else { throw .disk("opening \(path)") }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw .disk("looking at \(path)") }
    let samples = min(Int(status.st_size) - WAVHeader.length, WAVHeader.longestData) / 2
    guard samples > 0 else {
      try removeOpen(name)
      return nil
    }
    let header = WAVHeader(sampleRate: info.sampleRate, dataBytes: samples * 2)
    try disk.check(.write, path)
    // A crash or a full disk may have left half of a sample.
    guard ftruncate(file, WAVHeader.length + header.dataBytes) == 0 else { throw .disk("cutting \(path)") }
    guard pwrite(file, header.bytes, WAVHeader.length, 0) == WAVHeader.length else { throw .disk("writing \(path)") }
    try disk.check(.sync, path)
    guard fsync(file) == 0 else { throw .disk("writing \(path) to disk") }

    var finished = info
    finished.fit(to: samples)
    try measure(file, path, &finished)
    try disk.replace(paths.sidecar(name), with: SegmentJSON.bytes(finished, pretty: true), by: paths.draft(name))
    try disk.rename(path, to: paths.wav(name))
    try disk.sync(folder: self.path)
    if !late.isEmpty { try disk.remove(paths.part(name)) }
    try disk.remove(paths.log(name))
    return FinishedSegment(info: finished, path: paths.wav(name))
  }

  /// Writes a part once more, with silence where gaps were noticed late.
  /// - Parameter late: those gaps, in order.
  /// - Returns: where it is.
  private func spread(_ name: String, _ late: [AudioGap]) throws(AudioIngestError) -> String {
    let part = try DiskFile(paths.part(name), disk, isContinued: true)
    let new = try DiskFile(paths.spread(name), disk)
    var (offset, added) = (0, 0)
    func copy(to end: Int) throws(AudioIngestError) {
      while offset < end {
        let count = min(end - offset, 65_536)
        try new.append(part.read(at: offset, count))
        offset += count
      }
    }
    for gap in late {
      let place = WAVHeader.length + (gap.start - added) * 2
      // A crash has taken what was before it.
      guard place <= part.length else { break }
      try copy(to: place)
      var rest = gap.samples
      while rest > 0 {
        let count = min(rest, 32_768)
        try new.append([Int16](repeating: 0, count: count))
        rest -= count
      }
      added += gap.samples
    }
    try copy(to: part.length)
    return new.path
  }

  /// Reads the file as those will who get it: its sum and how loud it is.
  private func measure(_ file: Int32, _ path: String, _ info: inout SegmentInfo) throws(AudioIngestError) {
    var sum = SHA256()
    var level = SoundLevel()
    var buffer = [Int16](repeating: 0, count: 32_768)
    var offset = 0
    while true {
      let count = buffer.withUnsafeMutableBytes { pread(file, $0.baseAddress, $0.count, offset) }
      guard count >= 0 else { throw .disk("reading \(path)") }
      if count == 0 { break }
      buffer.withUnsafeBytes { bytes in
        let read = UnsafeRawBufferPointer(rebasing: bytes[..<count])
        sum.update(bufferPointer: read)
        level.add(UnsafeRawBufferPointer(rebasing: read[min(offset == 0 ? WAVHeader.length : 0, count)...]).samples)
      }
      offset += count
    }
    (info.sha256, info.peak, info.rms) = (sum.finalize().hexadecimal, level.peak.tenths, level.rms.tenths)
  }
}

extension SHA256Digest {
  /// Two digits for each byte.
  var hexadecimal: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}

extension UnsafeRawBufferPointer {
  /// Whole samples, as this machine keeps them: EdgeBlue runs on little-endian machines.
  fileprivate var samples: UnsafeBufferPointer<Int16> {
    UnsafeBufferPointer(start: baseAddress?.assumingMemoryBound(to: Int16.self), count: count / 2)
  }
}

extension Double {
  /// To a tenth: more of a level means nothing.
  fileprivate var tenths: Double { (self * 10).rounded() / 10 }
}
