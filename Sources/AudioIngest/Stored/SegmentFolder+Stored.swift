extension SegmentFolder {
  /// Moves the segments of a finished scratch folder here, and removes the scratch folder.
  ///
  /// Every step can be repeated: after a crash the remaining ones are performed.
  func adopt(_ scratch: String) throws(AudioIngestError) -> [FinishedSegment] {
    let made = SegmentPaths(root: scratch)
    var adopted: [FinishedSegment] = []
    for file in try storage(disk.names(in: scratch)) where file.hasSuffix(".wav") {
      let name = String(file.dropLast(4))
      // The sidecar may have been moved already.
      if try disk.contents(of: made.sidecar(name), limit: SegmentJSON.limit) != nil {
        try storage(disk.rename(made.sidecar(name), to: paths.sidecar(name)))
      }
      let info = try disk.contents(of: paths.sidecar(name), limit: SegmentJSON.limit).flatMap(SegmentJSON.info)
      guard let info else { throw AudioIngestError(.damagedFile, "\(made.wav(name)) has no sidecar that describes it") }
      try storage(disk.rename(made.wav(name), to: paths.wav(name)))
      adopted.append(FinishedSegment(info: info, path: paths.wav(name)))
    }
    try storage(disk.sync(folder: path))
    try storage(disk.remove(tree: scratch))
    return adopted
  }

  /// Makes segments of the records that a recorder had fetched from devices' stores when it ended.
  func recoverStored(report: (AudioIngestError) -> Void) throws(AudioIngestError) -> [FinishedSegment] {
    var recovered: [FinishedSegment] = []
    for file in try storage(disk.names(in: paths.open)) where file.hasSuffix(".stored") {
      let device = String(file.dropLast(".stored".count))
      guard !isFetching(device) else { continue }
      do throws(AudioIngestError) {
        recovered += try tidyStored(device)
        guard let spool = try StoredSpool.existing(device, in: self), spool.count > 0 else { continue }
        let live = try SegmentCatalog(path: path).entries.map(\.segment.info)
        var sealer = try StoredSealer(spool, SegmentRules(), live: live, latestMs: Moment.now.wallMs)
        while try sealer.step() {}
        recovered += try sealer.finish(at: spool.position)
      } catch {
        report(error)
      }
    }
    return recovered
  }

  /// Completes the change of generation of a device's stored audio that a crash interrupted: segments that count already
  /// appear, and the others are removed, to be made again.
  func tidyStored(_ device: String) throws(AudioIngestError) -> [FinishedSegment] {
    let word = SegmentPaths.word(device)
    guard let generation = try StoredSpool.existing(device, in: self)?.label.generation else { return [] }
    try storage(disk.remove(paths.stored(device) + ".new"))
    var adopted: [FinishedSegment] = []
    for name in try storage(disk.names(in: paths.open)) {
      let parts = name.split(separator: ".")
      guard parts.count == 3, parts[0] == word, let number = Int(parts[1]) else { continue }
      switch parts[2] {
      case "scratch" where number < generation: adopted += try adopt(paths.scratch(device, number))
      case "scratch": try storage(disk.remove(tree: paths.scratch(device, number)))
      case "records" where number != generation: try storage(disk.remove(paths.records(device, number)))
      default: break
      }
    }
    return adopted
  }
}
