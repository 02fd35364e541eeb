/// The capture times of records: the runs that follow each other without a pause, and the start of each run.
///
/// A ring's records carry the time, in whole seconds, at which each was full. Audio has no pauses of its own, so all
/// records of a run together tell more: its start is the latest that any of them permits, which is accurate to a record's
/// length once a run lasts a second. A file's blocks carry no time; the known time is that of the next connection, so the
/// last block ends there.
struct StoredTimeline {
  /// The time and length of a record.
  struct Record: Hashable {
    var stamp: StoredRecord.Stamp?
    var samples: Int
  }

  /// The time until which the store was filled up to a record.
  struct Anchor: Hashable, Codable {
    /// The number of records, from the first one on.
    var until: Int
    var atMs: Int64
  }

  /// A range of records without a pause.
  struct Run: Hashable {
    var records: Range<Int>
    var startMs: Int64
    var clock: SegmentInfo.Backfill.Clock
  }

  /// The tolerance in seconds: the clock shows whole seconds, and a request may delay the device.
  private static let tolerance = 2.0

  let sampleRate: Int

  /// Returns the runs of records, with the time at which each starts.
  /// - Parameters:
  ///   - records: The records, in order.
  ///   - anchors: The times until which the store was filled; the last one may lie behind the last record.
  ///   - follows: The end of the record before the first, if the two may be of one run.
  ///   - latestMs: The time before which the records ended, if nothing else is known.
  func runs(_ records: [Record], anchors: [Anchor] = [], follows: Int64? = nil, latestMs: Int64) -> [Run] {
    guard records.contains(where: { $0.stamp != nil }) else { return anchored(records, anchors, follows, latestMs) }
    var runs: [Run] = []
    var start = 0
    while start < records.count {
      let run = stamped(records, from: start, follows: start == 0 ? follows : nil)
      runs.append(run)
      start = run.records.upperBound
    }
    return placingUptimes(runs, records, latestMs)
  }

  private func seconds(_ samples: Int) -> Double { Double(samples) / Double(sampleRate) }

  // MARK: By stamps

  /// Returns the run that starts with a record, by the clock of its stamps.
  private func stamped(_ records: [Record], from start: Int, follows: Int64?) -> Run {
    let (first, isUptime) = Self.value(records[start].stamp)
    var samples = records[start].samples
    var began = first - seconds(samples)
    // It continues where the run before ended, to the sample.
    let known = follows.map { Double($0) / 1000 }.flatMap { !isUptime && abs($0 - began) < Self.tolerance ? $0 : nil }
    began = known ?? began
    var end = start + 1
    while end < records.count {
      let (value, kind) = Self.value(records[end].stamp)
      let candidate = value - seconds(samples + records[end].samples)
      guard kind == isUptime, abs(candidate - began) < Self.tolerance else { break }
      if known == nil { began = max(began, candidate) }
      samples += records[end].samples
      end += 1
    }
    return Run(
      records: start..<end, startMs: Int64((began * 1000).rounded()), clock: isUptime ? .estimated : .device)
  }

  private static func value(_ stamp: StoredRecord.Stamp?) -> (seconds: Double, isUptime: Bool) {
    switch stamp {
    case .unix(let seconds)?: (Double(seconds), false)
    case .uptime(let seconds)?: (Double(seconds), true)
    case nil: (0, true)
    }
  }

  /// Places runs with an uptime, which tells the length of a pause but not the time: the last such run ends where the next
  /// one with a time starts, or at the latest when it was fetched.
  private func placingUptimes(_ runs: [Run], _ records: [Record], _ latestMs: Int64) -> [Run] {
    var runs = runs
    var limit = latestMs
    var following: (uptimeMs: Int64, offset: Int64)?
    for index in runs.indices.reversed() {
      guard runs[index].clock == .estimated else {
        limit = runs[index].startMs
        following = nil
        continue
      }
      let uptime = runs[index].startMs
      let length = Int64(seconds(records[runs[index].records].reduce(0) { $0 + $1.samples }) * 1000)
      // After a restart of the device the uptime starts at 0.
      let offset = following.flatMap { uptime <= $0.uptimeMs ? $0.offset : nil } ?? limit - length - uptime
      following = (uptime, offset)
      runs[index].startMs = uptime + offset
      limit = runs[index].startMs
    }
    return runs
  }

  // MARK: By anchors

  private func anchored(
    _ records: [Record], _ anchors: [Anchor], _ follows: Int64?, _ latestMs: Int64
  ) -> [Run] {
    guard !records.isEmpty else { return [] }
    let mean = seconds(records.reduce(0) { $0 + $1.samples }) / Double(records.count)
    var runs: [Run] = []
    var start = 0
    let ends = anchors.filter { $0.until > 0 }.sorted { $0.until < $1.until }
    let last = Anchor(until: records.count, atMs: latestMs)
    for anchor in (ends.last?.until ?? 0) < records.count ? ends + [last] : ends where start < records.count {
      let end = min(anchor.until, records.count)
      guard end > start else { continue }
      // Records still on the device last about as long as the others.
      let behind = Double(anchor.until - end) * mean
      let length = seconds(records[start..<end].reduce(0) { $0 + $1.samples }) + behind
      let estimate = anchor.atMs - Int64((length * 1000).rounded())
      runs.append(Run(records: start..<end, startMs: start == 0 ? follows ?? estimate : estimate, clock: .estimated))
      start = end
    }
    return runs
  }
}
