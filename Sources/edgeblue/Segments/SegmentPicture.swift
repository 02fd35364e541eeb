import AudioIngest
import Foundation

/// A segment as an SVG picture: waveform, gaps and their reasons, speech, and the time of day.
struct SegmentPicture {
  private static let width = 1280.0
  private static let height = 420.0
  /// The area of the waveform in the picture.
  static let plot = (left: 64.0, top: 92.0, right: 1256.0, bottom: 316.0)
  let info: SegmentInfo
  let waveform: Waveform
  /// The amplitude at the upper edge, 0 to 1; quiet recordings are enlarged.
  private let scale: Double

  init(_ info: SegmentInfo, _ samples: [Int16]) {
    self.info = info
    waveform = Waveform(samples, columns: Int(Self.plot.right - Self.plot.left))
    let peak = waveform.peak
    // In steps of 3 dB.
    let scales = (0...12).map { pow(10, Double($0) * 3 / 20 - 1.8) }
    scale = scales.first { peak <= $0 } ?? 1
  }

  /// The SVG document.
  var svg: String {
    let parts: [[String]] = [
      [head, Self.style, title], grid, gapBands, [wave], clippingMarks, gapMarks, speech, timeAxis, legend,
      ["</svg>", ""],
    ]
    return parts.joined().joined(separator: "\n")
  }

  // MARK: Parts

  private var head: String {
    """
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Self.n(Self.width)) \(Self.n(Self.height))" \
    width="\(Self.n(Self.width))" height="\(Self.n(Self.height))" role="img">
    <title>\(Self.escaped("Segment \(info.id), \(who), \(day)"))</title>
    <desc>\(Self.escaped(facts.joined(separator: ", ")))</desc>
    """
  }

  private static let style = """
    <defs>
    <pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">\
    <path d="M0 0V7" stroke="#ffffff" stroke-width="3.2" stroke-opacity="0.62"/></pattern>
    </defs>
    <style>
    text { font-family: "Inter", "Noto Sans", "DejaVu Sans", system-ui, sans-serif; font-size: 12px; fill: #566573; }
    .name { font-size: 21px; font-weight: 600; fill: #1b2631; }
    .facts { font-size: 13px; }
    .tick { font-size: 12px; fill: #34495e; }
    .gap { font-size: 12px; font-weight: 600; fill: #34495e; }
    .small { font-size: 11px; fill: #85929e; }
    </style>
    <rect width="100%" height="100%" fill="#ffffff"/>
    """

  private var title: String {
    """
    <text class="name" x="\(Self.n(Self.plot.left))" y="38">\(Self.escaped(who))</text>
    <text class="facts" x="\(Self.n(Self.plot.left))" y="62">\(Self.escaped(facts.joined(separator: "  ·  ")))</text>
    <text class="facts" x="\(Self.n(Self.plot.right))" y="38" text-anchor="end">\(Self.escaped(day))</text>
    <text class="small" x="\(Self.n(Self.plot.right))" y="62" text-anchor="end">segment \(info.id), \
    ended by \(Self.escaped(info.closedBy.words))</text>
    """
  }

  private var who: String { info.device.name?.printable ?? info.device.address.printable }
  private var day: String { "\(info.capture.localDate), \(info.clock(at: 0)) (\(info.capture.timeZone.printable))" }

  private var facts: [String] {
    let missing = Amounts.fixed(info.seconds(info.missingSamples), 2)
    return [
      Amounts.clock(info.duration, digits: 1), info.codec.words,
      "\(Amounts.decibels(info.measured.peak)) peak, \(Amounts.decibels(info.measured.rms)) RMS",
      info.gaps.isEmpty
        ? "no gaps" : "\(missing) s missing in \(info.gaps.count) gap\(info.gaps.count == 1 ? "" : "s")",
    ] + (waveform.clippings > 0 ? ["clipped"] : []) + (info.backfill == nil ? [] : ["stored by the device"])
  }

  private var grid: [String] {
    let middle = Self.y(0, scale)
    let levels = [1.0, 0.5].flatMap { share -> [String] in
      let decibels = Amounts.fixed(SoundLevel.decibels(scale * share), 0)
      return [share, -share].map { share in
        let y = Self.y(share * scale, scale)
        return """
          <path d="M\(Self.n(Self.plot.left)) \(Self.n(y))H\(Self.n(Self.plot.right))" stroke="#e5e8eb"/>\
          <text class="small" x="\(Self.n(Self.plot.left - 8))" y="\(Self.n(y + 4))" text-anchor="end">\(decibels) dB</text>
          """
      }
    }
    return [
      """
      <rect x="\(Self.n(Self.plot.left))" y="\(Self.n(Self.plot.top))" width="\(Self.n(Self.plot.right - Self.plot.left))" \
      height="\(Self.n(Self.plot.bottom - Self.plot.top))" fill="#f8fafb"/>
      """
    ] + levels + [
      "<path d=\"M\(Self.n(Self.plot.left)) \(Self.n(middle))H\(Self.n(Self.plot.right))\" stroke=\"#c5ccd3\"/>"
    ]
  }

  /// The outline of the peaks, and within it the RMS level. Gaps have neither.
  private var wave: String {
    let outer = outlines(waveform.columns.map { ($0.high, $0.low) })
    let inner = outlines(waveform.columns.map { (min($0.rms, $0.high), max(-$0.rms, $0.low)) })
    return "<path d=\"\(outer)\" fill=\"#8fbde3\"/>\n<path d=\"\(inner)\" fill=\"#2e6da4\"/>"
  }

  private func outlines(_ columns: [(high: Double, low: Double)]) -> String {
    let step = (Self.plot.right - Self.plot.left) / Double(max(columns.count, 1))
    // A minimum height, so that silence is a visible line.
    let hair = scale / (Self.plot.bottom - Self.plot.top)
    func point(_ index: Int, _ value: Double) -> String {
      "\(Self.n(Self.plot.left + (Double(index) + 0.5) * step)) \(Self.n(Self.y(value, scale)))"
    }
    return recordedRuns(columns.count).map { run in
      let upper = run.map { point($0, columns[$0].high + hair) }
      let lower = run.reversed().map { point($0, columns[$0].low - hair) }
      return "M" + (upper + lower).joined(separator: "L") + "Z"
    }.joined()
  }

  /// Returns the ranges of columns between gaps.
  private func recordedRuns(_ count: Int) -> [Range<Int>] {
    let silences = info.gaps.map { gap -> Range<Int> in
      let from = ((gap.start + gap.concealed) * count + info.samples - 1) / max(info.samples, 1)
      return from..<max(gap.end * count / max(info.samples, 1), from)
    }
    var runs: [Range<Int>] = []
    var start = 0
    for silence in silences where !silence.isEmpty && silence.lowerBound >= start {
      if silence.lowerBound > start { runs.append(start..<silence.lowerBound) }
      start = silence.upperBound
    }
    return start < count ? runs + [start..<count] : runs
  }

  private var speech: [String] {
    let y = Self.plot.bottom + 6
    return [
      """
      <rect x="\(Self.n(Self.plot.left))" y="\(Self.n(y))" width="\(Self.n(Self.plot.right - Self.plot.left))" height="6" \
      rx="3" fill="#eef1f3"/>
      """
    ]
      + info.speech.map { stretch in
        let (x, width) = span(stretch.start, stretch.samples)
        return
          "<rect x=\"\(Self.n(x))\" y=\"\(Self.n(y))\" width=\"\(Self.n(width))\" height=\"6\" rx=\"\(Self.n(min(3, width / 2)))\" fill=\"#2a9d76\"/>"
      }
  }

  // MARK: Time

  private var timeAxis: [String] {
    let step = TimeAxis.step(for: info.duration, marks: 12)
    let digits = TimeAxis.digits(step)
    let marks = (0...Int(info.duration / step)).map { Double($0) * step }
    return marks.map { seconds in
      let x = self.x(Int(seconds * Double(info.sampleRate)))
      // A centred label of the last mark would leave the picture.
      let anchor = x > Self.plot.right - 20 ? "end" : "middle"
      return """
        <path d="M\(Self.n(x)) \(Self.n(Self.plot.bottom + 16))v6" stroke="#aab4bd"/>\
        <text class="tick" x="\(Self.n(x))" y="\(Self.n(Self.plot.bottom + 38))" text-anchor="\(anchor)">\
        \(Amounts.clock(seconds, digits: digits))</text>\
        <text class="small" x="\(Self.n(x))" y="\(Self.n(Self.plot.bottom + 54))" text-anchor="\(anchor)">\
        \(info.clock(at: Int(seconds * Double(info.sampleRate))))</text>
        """
    }
  }

  // MARK: Legend

  private var legend: [String] {
    var items: [(colour: String, text: String)] = [("#8fbde3", "peaks"), ("#2e6da4", "RMS")]
    items.append(("#2a9d76", info.speech.isEmpty ? "no speech" : "speech"))
    for reason in AudioGap.Reason.allCases {
      let gaps = info.gaps.filter { $0.reason == reason }
      guard !gaps.isEmpty else { continue }
      let missing = Amounts.fixed(info.seconds(gaps.reduce(0) { $0 + $1.samples }), 2)
      items.append((reason.colour, "\(reason.words), \(missing) s in \(gaps.count)"))
    }
    if waveform.clippings > 0 {
      items.append((Self.clipping, "clipped in \(waveform.clippings) place\(waveform.clippings == 1 ? "" : "s")"))
    }
    var x = Self.plot.left
    var y = Self.height - 22
    return items.map { item in
      let width = 30 + Double(item.text.count) * 6.6 + 16
      if x + width > Self.plot.right, x > Self.plot.left {
        x = Self.plot.left
        y += 17
      }
      defer { x += width }
      return """
        <rect x="\(Self.n(x))" y="\(Self.n(y - 10))" width="14" height="11" rx="2" fill="\(item.colour)"/>\
        <text x="\(Self.n(x + 21))" y="\(Self.n(y))">\(Self.escaped(item.text))</text>
        """
    }
  }

  // MARK: Numbers and text

  func x(_ sample: Int) -> Double {
    Self.plot.left + (Self.plot.right - Self.plot.left) * Double(sample) / Double(max(info.samples, 1))
  }

  private static func y(_ value: Double, _ scale: Double) -> Double {
    let middle = (plot.top + plot.bottom) / 2
    let reach = (plot.bottom - plot.top) / 2
    return min(max(middle - value / scale * reach, plot.top), plot.bottom)
  }

  /// Returns a coordinate rounded to tenths.
  static func n(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    let sign = tenths < 0 ? "-" : ""
    let (whole, rest) = abs(tenths).quotientAndRemainder(dividingBy: 10)
    return rest == 0 ? "\(sign)\(whole)" : "\(sign)\(whole).\(rest)"
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
  }
}
