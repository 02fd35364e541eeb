import Foundation
import SpeedTest

/// A loop as an SVG picture: the rates of all its tests over time, and the round trips below.
struct LoopPicture {
  private static let width = 1280.0
  private static let height = 660.0

  let state: LoopState
  let server: String
  private let times: ClosedRange<Double>

  init(_ state: LoopState, server: String) {
    self.state = state
    self.server = server
    let starts = state.history.map { Double($0.startMs) / 1000 }
    let first = starts.min() ?? Double(state.startMs) / 1000
    let last = starts.max() ?? first
    // Somewhat more, so that no dot lies on the edge.
    let margin = max((last - first) * 0.02, 30)
    times = (first - margin)...(last + margin)
  }

  var svg: String {
    SVG.document(
      width: Self.width, height: Self.height, title: "Speed tests of a loop, \(server)", facts: facts, rates + pings)
  }

  private var completed: [LoopTest] { state.history.filter { $0.outcome?.status == .completed } }
  private var failed: [LoopTest] {
    state.history.filter { $0.outcome != nil && $0.outcome?.status != .completed }
  }

  private var facts: String {
    let done = "\(Terminal.clock(atMs: state.startMs))  ·  \(state.plan.words)  ·  \(completed.count) completed"
    return failed.isEmpty ? done : done + ", \(failed.count) attempts not"
  }

  /// The values of all tests, those in a row together. No line goes across a test without a value, where nothing is known.
  private func runs(_ value: (LoopOutcome) -> Double?) -> [[(x: Double, y: Double)]] {
    let points = state.history.map { test -> (x: Double, y: Double)? in
      guard test.outcome?.status == .completed else { return nil }
      return test.outcome.flatMap(value).map { (x: Double(test.startMs) / 1000, y: $0) }
    }
    return points.split { $0 == nil }.map { $0.compactMap(\.self) }
  }

  private func drawn(_ runs: [[(x: Double, y: Double)]], _ colour: String, on chart: Chart) -> [String] {
    runs.map { chart.line($0, colour, width: 1.6, opacity: 0.6) } + [
      chart.dots(runs.flatMap(\.self), colour, radius: 3.4)
    ]
  }

  private var rates: [String] {
    let down = runs { $0.download.map { $0 / 1e6 } }
    let up = runs { $0.upload.map { $0 / 1e6 } }
    let highest = (down + up).joined().map(\.y).max() ?? 1
    let chart = Chart(left: 72, top: 116, right: 1248, bottom: 400, xs: times, highest: Chart.end(highest))
    let failures = failed.map { test -> String in
      let x = chart.x(Double(test.startMs) / 1000)
      let y = chart.bottom - 9
      return """
        <path d="M\(SVG.n(x - 5)) \(SVG.n(y - 5))l10 10m0 -10l-10 10" stroke="\(Chart.Colour.failure)" stroke-width="2">\
        <title>\(SVG.escaped(test.outcome?.words ?? ""))</title></path>
        """
    }
    let items: [(String, String)] =
      [(Chart.Colour.download, "download")] + (up.isEmpty ? [] : [(Chart.Colour.upload, "upload")])
      + (failed.isEmpty ? [] : [(Chart.Colour.failure, "× not completed")])
    return chart.grid("Throughput in Mbit/s", SpeedTestPicture.number)
      + drawn(down, Chart.Colour.download, on: chart) + drawn(up, Chart.Colour.upload, on: chart) + failures
      + axis(chart) + SVG.legend(items.map { (colour: $0.0, text: $0.1) }, x: 860, y: 106)
  }

  private var pings: [String] {
    let pings = runs(\.pingMs)
    let chart = Chart(
      left: 72, top: 480, right: 1248, bottom: 610, xs: times, highest: Chart.end(pings.joined().map(\.y).max() ?? 1))
    return chart.grid("Ping in ms: the median of each test", SpeedTestPicture.number)
      + drawn(pings, Chart.Colour.ping, on: chart) + axis(chart)
  }

  /// About eight labels of local time, with the date where it changes.
  private func axis(_ chart: Chart) -> [String] {
    let span = times.upperBound - times.lowerBound
    let steps: [Double] = [1, 5, 15, 30].map { $0 * 60 } + [1, 2, 3, 6, 12, 24, 48, 168, 720].map { $0 * 3600 }
    let step = steps.first { span / $0 <= 8 } ?? span / 8
    let offset = Double(TimeZone.current.secondsFromGMT(for: Date(timeIntervalSince1970: times.lowerBound)))
    let first = ((times.lowerBound + offset) / step).rounded(.up) * step - offset
    var day = ""
    return stride(from: first, through: times.upperBound, by: step).map { time in
      let text = Terminal.clock(atMs: Int64(time * 1000))
      let date = String(text.prefix(10))
      let clock = text.dropFirst(11).prefix(5)
      defer { day = date }
      return chart.label(date == day ? String(clock) : "\(date) \(clock)", at: time)
    }
  }
}
