/// The order in which samples of segments, and the pauses between them, make up one recording.
///
/// Segments of one recording follow each other by their samples and by the pauses that their sidecars name, so that
/// joins are exact to the sample; a recording that began anew is placed by its capture time. What a device had stored
/// takes the place of the pauses and gaps that it fills, and never that of audio that was received live.
struct SegmentJoin {
  /// A part of the recording.
  enum Piece: Hashable {
    /// Samples of the segment with an index.
    case samples(Int, Range<Int>)
    /// A number of samples of silence, at the ``rate``.
    case pause(Int)
  }

  /// A range of a segment's samples at its place in the recording; positions are counted at the ``rate``.
  private struct Span {
    let index: Int
    var range: Range<Int>
    var start: Int
    /// The number of positions that a sample takes: 2 for audio of half the rate.
    let step: Int

    var end: Int { start + range.count * step }

    /// Returns the part between two positions, which a sample of half the rate may not reach.
    func part(_ from: Int, _ to: Int) -> Span? {
      let lower = range.lowerBound + (from - start + step - 1) / step
      let upper = range.lowerBound + (to - start) / step
      guard lower < upper else { return nil }
      return Span(index: index, range: lower..<upper, start: start + (lower - range.lowerBound) * step, step: step)
    }
  }

  /// The highest sample rate of the segments.
  let rate: Int
  private let segments: [SegmentInfo]
  private let ranges: [Range<Int>]

  /// Creates a plan.
  /// - Parameters:
  ///   - segments: Segments of one device, by their capture time.
  ///   - ranges: The samples to take of each.
  /// - Throws: ``AudioIngestError`` with code `.damagedFile` if the sample rates have no common one.
  init(_ segments: [SegmentInfo], _ ranges: [Range<Int>]) throws(AudioIngestError) {
    let rate = segments.map(\.sampleRate).max() ?? 0
    for info in segments where info.sampleRate <= 0 || !rate.isMultiple(of: info.sampleRate) {
      throw AudioIngestError(
        .damagedFile, "the sample rates \(info.sampleRate) Hz and \(rate) Hz of the segments do not fit together")
    }
    self.rate = rate
    self.segments = segments
    self.ranges = ranges
  }

  /// Returns the parts in order.
  /// - Parameter keepsPauses: `false` to leave out the pauses between segments; gaps within them stay.
  func pieces(keepsPauses: Bool) -> [Piece] {
    let starts = places()
    var heard: [Span] = []
    var missing: [Span] = []
    var stored: [Span] = []
    for index in segments.indices {
      let span = Span(
        index: index, range: ranges[index],
        start: starts[index] + ranges[index].lowerBound * step(index), step: step(index))
      if segments[index].backfill != nil { stored.append(span) } else { split(span, &heard, &missing) }
    }
    var spans = heard
    for lower in [stored, missing] { spans = (spans + Self.uncovered(lower, by: spans)).sorted { $0.start < $1.start } }
    return Self.joined(spans, rate: keepsPauses ? rate : nil)
  }

  private func step(_ index: Int) -> Int { rate / segments[index].sampleRate }

  /// Returns the position of the first sample of each segment; the first one that was received live has position 0.
  private func places() -> [Int] {
    var starts = [Int](repeating: 0, count: segments.count)
    let live = segments.indices.filter { segments[$0].backfill == nil }
    let stored = segments.indices.filter { segments[$0].backfill != nil }
    place(live, &starts) { _ in nil }
    let known = starts
    place(stored, &starts) { index in
      let before = live.last { segments[$0].capture.unixMs <= segments[index].capture.unixMs } ?? live.first
      return before.map { known[$0] + distance($0, index) }
    }
    return starts
  }

  /// Places segments one behind the other, none before the end of the last one.
  /// - Parameter byTime: A closure that returns the position of a segment by its time, if segments of others tell it.
  private func place(_ indices: [Int], _ starts: inout [Int], byTime: (Int) -> Int?) {
    var last: Int?
    for index in indices {
      if let last {
        let end = starts[last] + segments[last].samples * step(last)
        if let previous = segments[index].previous, previous.id == segments[last].id {
          starts[index] = end + Int((max(previous.pause, 0) * Double(rate)).rounded())
        } else {
          starts[index] = max(end, byTime(index) ?? starts[last] + distance(last, index))
        }
      } else {
        starts[index] = byTime(index) ?? 0
      }
      last = index
    }
  }

  /// Returns the time between the starts of two segments by the wall clock, as a number of positions.
  private func distance(_ one: Int, _ other: Int) -> Int {
    Int(segments[other].capture.unixMs - segments[one].capture.unixMs) * rate / 1000
  }

  /// Splits a segment into what was heard and what is missing.
  private func split(_ span: Span, _ heard: inout [Span], _ missing: inout [Span]) {
    let origin = span.start - span.range.lowerBound * span.step
    var position = span.start
    for gap in segments[span.index].gaps {
      let start = max(origin + gap.start * span.step, position)
      let end = min(origin + gap.end * span.step, span.end)
      guard start < end else { continue }
      if let part = span.part(position, start) { heard.append(part) }
      if let part = span.part(start, end) { missing.append(part) }
      position = end
    }
    if let part = span.part(position, span.end) { heard.append(part) }
  }

  /// Returns the parts of spans that no other span covers; both are in order.
  private static func uncovered(_ lower: [Span], by upper: [Span]) -> [Span] {
    var result: [Span] = []
    var covers = upper[...]
    for span in lower {
      while let first = covers.first, first.end <= span.start { covers.removeFirst() }
      var position = span.start
      for cover in covers {
        guard cover.start < span.end else { break }
        if cover.start > position, let part = span.part(position, cover.start) { result.append(part) }
        position = max(position, cover.end)
      }
      if position < span.end, let part = span.part(position, span.end) { result.append(part) }
    }
    return result
  }

  /// Returns spans as pieces: what belongs together is one piece again.
  /// - Parameter rate: The rate of the pauses between them; `nil` to leave them out.
  private static func joined(_ spans: [Span], rate: Int?) -> [Piece] {
    var pieces: [Piece] = []
    var end: Int?
    for span in spans {
      if rate != nil, let end, span.start > end { pieces.append(.pause(span.start - end)) }
      if case .samples(span.index, let range)? = pieces.last, range.upperBound == span.range.lowerBound {
        pieces[pieces.count - 1] = .samples(span.index, range.lowerBound..<span.range.upperBound)
      } else {
        pieces.append(.samples(span.index, span.range))
      }
      end = max(end ?? span.end, span.end)
    }
    return pieces
  }
}

extension SegmentInfo {
  /// Returns the samples that were captured from a time on and before another, both in Unix milliseconds.
  func samples(from: Int64, to: Int64) -> Range<Int> {
    /// The number of samples that were captured before a time.
    func before(_ time: Int64) -> Int {
      guard time > capture.unixMs else { return 0 }
      let (milliseconds, overflows) = time.subtractingReportingOverflow(capture.unixMs)
      guard !overflows, milliseconds < endMs - capture.unixMs else { return samples }
      return min((Int(milliseconds) * sampleRate + 999) / 1000, samples)
    }
    let lower = before(from)
    return lower..<max(before(to), lower)
  }
}
