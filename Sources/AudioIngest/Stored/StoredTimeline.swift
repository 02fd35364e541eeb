/// When records were captured: which of them follow each other without a pause, and when the first of those began.
///
/// A ring's records say in whole seconds when each was full. Sound has no pauses of its own, so all records of a run
/// together say more: its beginning is the latest that any of them allows, which is right to a record's length once a
/// run lasts a second. A file's blocks say nothing; what is known is when somebody listened again, and so the last
/// block ends there.
struct StoredTimeline {
  /// What counts of a record.
  struct Record: Hashable {
    var stamp: StoredRecord.Stamp?
    var samples: Int
  }

  /// Up to this record a store was filled at a moment.
  struct Anchor: Hashable, Codable {
    /// Counted from the first of the records.
    var until: Int
    var atMs: Int64
  }

  /// Records that follow each other.
  struct Run: Hashable {
    var records: Range<Int>
    var startMs: Int64
    var clock: SegmentInfo.Backfill.Clock
  }

  /// A clock of whole seconds, and a pause that is none: the device was asked something.
  private static let tolerance = 2.0

  let sampleRate: Int

  /// Places records in time.
  /// - Parameters:
  ///   - records: in order.
  ///   - anchors: when the store was filled up to where; the last one may lie behind the last record.
  ///   - follows: when the record before the first was over, if they are of one stretch as far as is known.
  ///   - latestMs: when nobody has said more, they ended before this.
  func runs(_ records: [Record], anchors: [Anchor] = [], follows: Int64? = nil, latestMs: Int64) -> [Run] {
    guard records.contains(where: { $0.stamp != nil }) else { return anchored(records, anchors, follows, latestMs) }
    var runs: [Run] = []
    var start = 0
    while start < records.count {
      let (end, seconds, isUptime) = stamped(records, from: start, follows: start == 0 ? follows : nil)
      runs.append(
        Run(
          records: start..<end, startMs: Int64((seconds * 1000).rounded()), clock: isUptime ? .estimated : .device))
      start = end
    }
    return placingUptimes(runs, records, latestMs)
  }

  private func seconds(_ samples: Int) -> Double { Double(samples) / Double(sampleRate) }

  // MARK: By stamps

  /// The run that begins with a record: its end, and when it began, by the clock of its stamps.
  private func stamped(
    _ records: [Record], from start: Int, follows: Int64?
  ) -> (end: Int, start: Double, isUptime: Bool) {
    let (first, isUptime) = Self.value(records[start].stamp)
    var samples = records[start].samples
    var began = first - seconds(samples)
    // It goes on where the one before has ended: to the sample.
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
    return (end, began, isUptime)
  }

  private static func value(_ stamp: StoredRecord.Stamp?) -> (seconds: Double, isUptime: Bool) {
    switch stamp {
    case .unix(let seconds)?: (Double(seconds), false)
    case .uptime(let seconds)?: (Double(seconds), true)
    case nil: (0, true)
    }
  }

  /// An uptime says how long a pause was, and not when: the last such run ends where the next one with a time begins, or
  /// when it was fetched at the latest.
  private func placingUptimes(_ runs: [Run], _ records: [Record], _ latestMs: Int64) -> [Run] {
    var runs = runs
    var limit = latestMs
    var following: (uptimeMs: Int64, offset: Int64)?
    for index in runs.indices.reversed() {
      guard runs[index].clock == .estimated else {
        (limit, following) = (runs[index].startMs, nil)
        continue
      }
      let uptime = runs[index].startMs
      let length = Int64(seconds(records[runs[index].records].reduce(0) { $0 + $1.samples }) * 1000)
      // Switched off and on again, it counts from 0.
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
      // What has not come yet lasts about as long as what has.
      let behind = Double(anchor.until - end) * mean
      let length = seconds(records[start..<end].reduce(0) { $0 + $1.samples }) + behind
      let estimate = anchor.atMs - Int64((length * 1000).rounded())
      runs.append(Run(records: start..<end, startMs: start == 0 ? follows ?? estimate : estimate, clock: .estimated))
      start = end
    }
    return runs
  }
}
