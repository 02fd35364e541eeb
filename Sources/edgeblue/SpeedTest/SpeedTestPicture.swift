import SpeedTest

/// A speed test as an SVG picture: the rate of each direction over time, each connection thin and the sum thick, and the
/// round trips below.
struct SpeedTestPicture {
  private static let width = 1280.0
  private static let height = 640.0
  /// The width of the intervals over which a rate is computed, in seconds.
  private static let interval = 0.1

  let record: SpeedTestRecord
  private let result: SpeedTestResult

  init(_ record: SpeedTestRecord) {
    self.record = record
    result = record.result
  }

  var svg: String {
    SVG.document(
      width: Self.width, height: Self.height, title: "Speed test \(record.number), \(record.server)", facts: facts,
      throughput + pings)
  }

  private var facts: String {
    let rates = [
      result.download.map { "\(SpeedTestTable.rate($0.throughput.bitsPerSecond)) down" },
      result.upload.map { "\(SpeedTestTable.rate($0.throughput.bitsPerSecond)) up" },
      result.latency.map { "ping \(SpeedTestTable.time($0.median))" },
      result.failure.map { "not finished: it ended in the phase \($0.phase.words)" },
    ].compactMap(\.self)
    return ([Terminal.clock(atMs: record.startMs)] + rates).joined(separator: "  ·  ")
  }

  // MARK: Throughput

  /// The rates of one direction, in Mbit/s at the middle of each interval.
  private struct Curves {
    var threads: [[(x: Double, y: Double)]]
    var sum: [(x: Double, y: Double)]
    var colour: String
    var name: String

    /// The rates up to the end of the measured time: beyond it, connections that have ended would look like a slower line.
    init?(_ direction: SpeedTestResult.Direction?, _ colour: String, _ name: String) {
      guard let direction else { return nil }
      let end = Double(direction.throughput.nanoseconds) / 1e9
      let count = max(Int(end / SpeedTestPicture.interval), 1)
      let step = end / Double(count)
      let totals = direction.samples.map { thread in
        (0...count).map { Self.bytes(of: thread, at: Double($0) * step * 1e9) }
      }
      let rates = totals.map { bytes in zip(bytes, bytes.dropFirst()).map { ($1 - $0) * 8 / step / 1e6 } }
      let times = (0..<count).map { (Double($0) + 0.5) * step }
      threads = rates.map { rate in zip(times, rate).map { (x: $0, y: $1) } }
      sum = times.indices.map { index in (x: times[index], y: rates.reduce(0) { $0 + $1[index] }) }
      self.colour = colour
      self.name = "\(name), \(SpeedTestTable.rate(direction.throughput.bitsPerSecond))"
    }

    /// The bytes of a connection at an instant, interpolated as the formula of the rate does.
    private static func bytes(of samples: [ThroughputSample], at time: Double) -> Double {
      guard let index = samples.firstIndex(where: { Double($0.nanoseconds) >= time }) else {
        return Double(samples.last?.bytes ?? 0)
      }
      let after = samples[index]
      let before = index > 0 ? samples[index - 1] : ThroughputSample(nanoseconds: 0, bytes: 0)
      let span = Double(after.nanoseconds - before.nanoseconds)
      guard span > 0 else { return Double(after.bytes) }
      let part = (time - Double(before.nanoseconds)) / span
      return Double(before.bytes) + part * (Double(after.bytes) - Double(before.bytes))
    }
  }

  private var throughput: [String] {
    let curves = [
      Curves(result.download, Chart.Colour.download, "download"), Curves(result.upload, Chart.Colour.upload, "upload"),
    ].compactMap(\.self)
    let end = max(curves.compactMap(\.sum.last?.x).max() ?? 1, 1) + Self.interval / 2
    let highest = curves.flatMap { $0.sum.map(\.y) }.max() ?? 1
    let chart = Chart(left: 72, top: 116, right: 1248, bottom: 400, xs: 0...end, highest: Chart.end(highest))
    let lines = curves.flatMap { curve in
      (curve.threads.count > 1 ? curve.threads.map { chart.line($0, curve.colour, width: 1, opacity: 0.35) } : [])
        + [chart.line(curve.sum, curve.colour, width: 3)]
    }
    let seconds = stride(from: 0, through: end, by: Chart.step(end / 10)).map {
      chart.label("\(Amounts.fixed($0, $0 == $0.rounded() ? 0 : 1)) s", at: $0)
    }
    return chart.grid("Throughput in Mbit/s: the sum thick, each connection thin") { Self.number($0) } + lines + seconds
      + SVG.legend(curves.map { ($0.colour, $0.name) }, x: 760, y: 106)
      + (curves.isEmpty ? [Self.nothing(chart)] : [])
  }

  // MARK: Round trips

  private var pings: [String] {
    let times = result.pings.enumerated().map { (x: Double($0.offset + 1), y: Double($0.element.server) / 1e6) }
    let highest = Chart.end(times.map(\.y).max() ?? 1)
    let chart = Chart(
      left: 72, top: 476, right: 1248, bottom: 592, xs: 0.5...Double(max(times.count, 1)) + 0.5, highest: highest)
    guard let latency = result.latency else {
      return chart.grid("Round trips in ms") { Self.number($0) } + [Self.nothing(chart)]
    }
    let bars = times.map { point in
      "<path d=\"M\(SVG.n(chart.x(point.x))) \(SVG.n(chart.bottom))V\(SVG.n(chart.y(point.y)))\" stroke=\"\(Chart.Colour.ping)\" stroke-opacity=\"0.35\"/>"
    }
    let median = latency.median / 1e6
    let title = "Round trips in ms by the server's clock: \(latency.count), the line is their median"
    return chart.grid(title) { Self.number($0) } + [bars.joined(), chart.dots(times, Chart.Colour.ping, radius: 2.2)]
      + [chart.line([(chart.xs.lowerBound, median), (chart.xs.upperBound, median)], Chart.Colour.ping, width: 1.5)]
      + [chart.label("1", at: 1), times.count > 1 ? chart.label("\(times.count)", at: Double(times.count)) : ""]
  }

  private static func nothing(_ chart: Chart) -> String {
    """
    <text class="facts" x="\(SVG.n((chart.left + chart.right) / 2))" y="\(SVG.n((chart.top + chart.bottom) / 2))" \
    text-anchor="middle">nothing was measured</text>
    """
  }

  /// Returns a number of an axis without needless decimals.
  static func number(_ value: Double) -> String {
    var scaled = value
    for digits in 0...3 {
      if abs(scaled - scaled.rounded()) < 1e-6 { return Amounts.fixed(value, digits) }
      scaled *= 10
    }
    return Amounts.fixed(value, 4)
  }
}
