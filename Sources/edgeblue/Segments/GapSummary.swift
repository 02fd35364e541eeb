import AudioIngest

/// The gaps of a segment in a few lines: their number and length, by reason, and where most is missing.
struct GapSummary {
  /// The gaps of one reason.
  struct Kind: Hashable {
    var reason: AudioGap.Reason
    var count: Int
    var samples: Int
  }

  /// The duration of the range in which most is missing.
  private static let span = 10
  /// The number of gaps that are listed without being asked for.
  static let listed = 20

  private let info: SegmentInfo
  /// The reasons, the one with most missing audio first.
  let kinds: [Kind]
  /// The start of the ten seconds in which most is missing, and the number of samples that are missing there.
  let worst: (start: Int, samples: Int)?

  init(_ info: SegmentInfo) {
    self.info = info
    kinds = AudioGap.Reason.allCases.compactMap { reason in
      let gaps = info.gaps.filter { $0.reason == reason }
      guard !gaps.isEmpty else { return nil }
      return Kind(reason: reason, count: gaps.count, samples: gaps.reduce(0) { $0 + $1.samples })
    }
    .sorted { ($0.samples, $0.count) > ($1.samples, $1.count) }
    worst = Self.worst(info.gaps, span: Self.span * info.sampleRate)
  }

  /// Returns the range of `span` samples, from the start of a gap, in which most is missing.
  private static func worst(_ gaps: [AudioGap], span: Int) -> (start: Int, samples: Int)? {
    var best: (start: Int, samples: Int)?
    var end = 0
    var inside = 0
    for (index, gap) in gaps.enumerated() {
      // The gaps from this one to before `end` begin within the range.
      while end < gaps.count, gaps[end].start < gap.start + span {
        inside += gaps[end].samples
        end += 1
      }
      let beyond = max(gaps[end - 1].end - (gap.start + span), 0)
      if inside - beyond > best?.samples ?? 0 { best = (gap.start, inside - beyond) }
      inside -= gaps[index].samples
    }
    return best
  }

  /// The lines for display, the first one with the totals.
  var lines: [String] {
    guard let longest = info.gaps.max(by: { $0.samples < $1.samples }) else { return ["none"] }
    let total = info.gaps.reduce(0) { $0 + $1.samples }
    let share = Double(total) / Double(max(info.samples, 1)) * 100
    let part = share < 0.05 ? "less than 0.1 %" : "\(Amounts.fixed(share, 1)) %"
    var lines = ["\(length(total)) in \(Self.counted(info.gaps.count)), \(part) of the segment"]
    guard info.gaps.count > 1 else { return lines }
    lines += kinds.map { "\($0.reason.words): \(length($0.samples)) in \(Self.counted($0.count))" }
    lines.append("longest: \(length(longest.samples)) at \(place(longest.start))")
    if let worst, worst.samples > longest.samples {
      lines.append("worst: \(length(worst.samples)) within \(Self.span) s from \(place(worst.start))")
    }
    return lines
  }

  /// Returns the list of gaps for display, in order: all of them, or only the longest if there are many.
  func list(all: Bool) -> [String] {
    let shown = all || info.gaps.count <= Self.listed ? info.gaps : longest(Self.listed)
    let lines = shown.map { gap in
      let made = gap.concealed > 0 ? "; \(length(gap.concealed)) of it concealed" : ""
      return "\(place(gap.start))  \(length(gap.samples))  \(gap.reason.words)\(made)"
    }
    guard shown.count < info.gaps.count else { return lines }
    return ["the \(shown.count) longest, in order; --all lists every gap"] + lines
  }

  private func longest(_ count: Int) -> [AudioGap] {
    info.gaps.sorted { ($1.samples, $0.start) < ($0.samples, $1.start) }.prefix(count).sorted { $0.start < $1.start }
  }

  private func length(_ samples: Int) -> String { "\(Amounts.fixed(info.seconds(samples), 3)) s" }
  private func place(_ sample: Int) -> String { Amounts.clock(info.seconds(sample), digits: 3) }
  private static func counted(_ gaps: Int) -> String { "\(gaps) gap\(gaps == 1 ? "" : "s")" }
}
