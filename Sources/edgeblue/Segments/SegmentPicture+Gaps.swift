import AudioIngest

extension SegmentPicture {
  /// The smallest width of a gap, so that it stays visible.
  private static let narrowestGap = 2.0
  /// The width of the mark above a gap.
  private static let markWidth = 11.0
  /// The colour of the marks of clipped samples.
  static let clipping = "#b3123f"

  /// Gaps that are closer to each other than a pixel, as one band.
  struct Band {
    var x: Double
    var end: Double
    /// The number of samples missing by each reason.
    var missing: [AudioGap.Reason: Int]

    var width: Double { end - x }
    var samples: Int { missing.values.reduce(0, +) }
    /// The reason of most of the missing audio.
    var reason: AudioGap.Reason {
      AudioGap.Reason.allCases.max { missing[$0, default: 0] < missing[$1, default: 0] } ?? .lost
    }
  }

  /// The gaps, of which those closer than `distance` are one, in order.
  func bands(closerThan distance: Double) -> [Band] {
    info.gaps.reduce(into: []) { bands, gap in
      let (x, width) = span(gap.start, gap.samples)
      guard let last = bands.last, x - last.end < distance else {
        return bands.append(Band(x: x, end: x + width, missing: [gap.reason: gap.samples]))
      }
      bands[bands.count - 1].end = max(last.end, x + width)
      bands[bands.count - 1].missing[gap.reason, default: 0] += gap.samples
    }
  }

  func span(_ start: Int, _ samples: Int) -> (x: Double, width: Double) {
    let x = self.x(start)
    let width = max(self.x(start + samples) - x, Self.narrowestGap)
    return (min(x, Self.plot.right - width), width)
  }

  var gapBands: [String] {
    bands(closerThan: 1).map { band in
      let rect =
        "<rect x=\"\(Self.n(band.x))\" y=\"\(Self.n(Self.plot.top))\" width=\"\(Self.n(band.width))\" height=\"\(Self.n(Self.plot.bottom - Self.plot.top))\""
      // Many short gaps are as pale as there is audio between them.
      let share = band.width > Self.narrowestGap ? min((x(band.samples) - Self.plot.left) / band.width, 1) : 1
      let percent = max(Int((share * 32).rounded()), 8)
      let opacity = "0.\(percent < 10 ? "0" : "")\(percent)"
      let hatch = band.width > 8 && share > 0.95 ? rect + " fill=\"url(#hatch)\"/>" : ""
      return "\(rect) fill=\"\(band.reason.colour)\" fill-opacity=\"\(opacity)\"/>\(hatch)"
    }
  }

  /// Marks above the gaps, as far as they do not hide each other, and the lengths where they fit.
  var gapMarks: [String] {
    let top = Self.plot.top
    var last = -Self.markWidth
    var marks: [String] = []
    for band in bands(closerThan: 1) where band.x + band.width / 2 - last >= Self.markWidth {
      last = band.x + band.width / 2
      marks.append("<path d=\"M\(Self.n(last - 5)) \(Self.n(top - 9))h10l-5 8z\" fill=\"\(band.reason.colour)\"/>")
    }
    let lengths = bands(closerThan: 1).filter { $0.width > 44 }.map { band in
      let seconds = info.seconds(band.samples)
      return """
        <text class="gap" x="\(Self.n(band.x + band.width / 2))" y="\(Self.n(Self.plot.bottom - 8))" text-anchor="middle">\(Amounts.fixed(seconds, seconds < 10 ? 2 : 1)) s</text>
        """
    }
    return marks + lengths
  }

  /// Marks at the upper and the lower edge where samples are clipped.
  var clippingMarks: [String] {
    let step = (Self.plot.right - Self.plot.left) / Double(max(waveform.columns.count, 1))
    return waveform.clippedColumns.flatMap { columns in
      let x = Self.plot.left + Double(columns.lowerBound) * step
      let width = max(Double(columns.count) * step, Self.narrowestGap)
      return [Self.plot.top, Self.plot.bottom - 5].map { y in
        "<rect x=\"\(Self.n(x))\" y=\"\(Self.n(y))\" width=\"\(Self.n(width))\" height=\"5\" fill=\"\(Self.clipping)\"/>"
      }
    }
  }
}

extension AudioGap.Reason {
  var colour: String {
    switch self {
    case .lost: "#d64545"
    case .damaged: "#8e44ad"
    case .unsent: "#e08e2b"
    case .linkLoss: "#6c7a89"
    case .noSpace: "#8d6e4b"
    }
  }
}
