import Glibc

extension SegmentFolder {
  /// Lets the segments of a finished scratch folder appear here, and removes it.
  ///
  /// Every step can be done again: whoever finds the folder goes on.
  func adopt(_ scratch: String) throws(AudioIngestError) -> [FinishedSegment] {
    let made = SegmentPaths(root: scratch)
    var adopted: [FinishedSegment] = []
    for file in try disk.names(in: scratch) where file.hasSuffix(".wav") {
      let name = String(file.dropLast(4))
      // The sidecar may be here already.
      if try disk.read(made.sidecar(name), limit: SegmentJSON.limit) != nil {
        try disk.rename(made.sidecar(name), to: paths.sidecar(name))
      }
      let info = try disk.read(paths.sidecar(name), limit: SegmentJSON.limit).flatMap(SegmentJSON.info)
      guard let info else { throw AudioIngestError(.damagedFile, "\(made.wav(name)) has no sidecar that describes it") }
      try disk.rename(made.wav(name), to: paths.wav(name))
      adopted.append(FinishedSegment(info: info, path: paths.wav(name)))
    }
    try disk.sync(folder: path)
    try disk.remove(tree: scratch)
    return adopted
  }

  /// Makes segments of what was fetched from devices' stores when a recorder ended.
  func recoverStored(report: (AudioIngestError) -> Void) throws(AudioIngestError) -> [FinishedSegment] {
    var recovered: [FinishedSegment] = []
    for file in try disk.names(in: paths.open) where file.hasSuffix(".stored") {
      let device = String(file.dropLast(".stored".count))
      guard !isFetching(device) else { continue }
      do throws(AudioIngestError) {
        recovered += try tidyStored(device)
        guard let spool = try StoredSpool.existing(device, in: self), spool.count > 0 else { continue }
        let heard = try SegmentCatalog(path: path).entries.map(\.segment.info)
        var sealer = try StoredSealer(spool, SegmentRules(), heard: heard, latestMs: Moment.now.wallMs)
        while try sealer.step() {}
        recovered += try sealer.finish(at: spool.position)
      } catch {
        report(error)
      }
    }
    return recovered
  }

  /// Finishes what was being done with a device's stored audio when a recorder ended: what counts already appears, the
  /// rest is removed, to be made again.
  func tidyStored(_ device: String) throws(AudioIngestError) -> [FinishedSegment] {
    let word = SegmentPaths.word(device)
    guard let generation = try StoredSpool.existing(device, in: self)?.label.generation else { return [] }
    try disk.remove(paths.stored(device) + ".new")
    var adopted: [FinishedSegment] = []
    for name in try disk.names(in: paths.open) {
      let parts = name.split(separator: ".")
      guard parts.count == 3, parts[0] == word, let number = Int(parts[1]) else { continue }
      switch parts[2] {
      case "scratch" where number < generation: adopted += try adopt(paths.scratch(device, number))
      case "scratch": try disk.remove(tree: paths.scratch(device, number))
      case "records" where number != generation: try disk.remove(paths.records(device, number))
      default: break
      }
    }
    return adopted
  }
}
