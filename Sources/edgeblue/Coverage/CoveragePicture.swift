import Coverage
import Foundation

/// A map of fences as an SVG picture for reports: circles or lines on a grid of degrees, with north, scale and legend.
struct CoveragePicture {
  private static let width = 1280.0
  private static let height = 900.0
  /// The area of the map in the picture.
  private static let plot = (left: 72.0, top: 84.0, right: 1256.0, bottom: 806.0)
  private static let edge = "#1b2631"

  let map: CoverageMap
  private let projection: Projection

  init(_ map: CoverageMap) {
    self.map = map
    let nowhere = CoverageMap.Bounds(south: -0.001, west: -0.001, north: 0.001, east: 0.001)
    projection = Projection(map.bounds ?? nowhere, Self.plot)
  }

  /// The SVG document.
  var svg: String {
    SVG.document(
      width: Self.width, height: Self.height, title: "Coverage: \(count)", facts: facts,
      map.spots.isEmpty ? background + nothing : background + grid + marks + scale + north + legend)
  }

  private var count: String { map.spots.count == 1 ? "1 fence" : "\(map.spots.count) fences" }

  private var facts: String {
    guard let first = map.spots.first, let last = map.spots.last else { return "" }
    let covered = map.spots.count { !$0.fence.isUncovered }
    let times = [first, last].map { Terminal.clock(atMs: $0.fence.enteredUs / 1000) }
    return times.joined(separator: " to ")
      + "  ·  with coverage: \(covered) of \(map.spots.count)"
  }

  // MARK: Projection

  /// The projection of Web Mercator, in pixels of the picture.
  private struct Projection {
    private let scale: Double
    private let left: Double
    private let top: Double
    /// The degrees that the picture shows.
    let shown: CoverageMap.Bounds

    /// The circumference of the Earth at the equator in metres, as Web Mercator has it.
    private static let around = 40_075_016.686

    init(_ bounds: CoverageMap.Bounds, _ plot: (left: Double, top: Double, right: Double, bottom: Double)) {
      let west = Self.x(bounds.west)
      let east = Self.x(bounds.east)
      let north = Self.y(bounds.north)
      let south = Self.y(bounds.south)
      let width = plot.right - plot.left
      let height = plot.bottom - plot.top
      // Not larger than 1 m for 8 pixels, so that a single place is not all there is to see.
      let closest = Self.around * cos(bounds.south * .pi / 180) * 8
      scale = min(width * 0.9 / max(east - west, 1e-12), height * 0.9 / max(south - north, 1e-12), closest)
      left = (west + east) / 2 * scale - (plot.left + plot.right) / 2
      top = (north + south) / 2 * scale - (plot.top + plot.bottom) / 2
      shown = CoverageMap.Bounds(
        south: Self.latitude((top + plot.bottom) / scale), west: (left + plot.left) / scale * 360 - 180,
        north: Self.latitude((top + plot.top) / scale), east: (left + plot.right) / scale * 360 - 180)
    }

    private static func x(_ longitude: Double) -> Double { (longitude + 180) / 360 }

    private static func y(_ latitude: Double) -> Double {
      let sine = sin(min(max(latitude, -85.0511), 85.0511) * .pi / 180)
      return 0.5 - log((1 + sine) / (1 - sine)) / (4 * .pi)
    }

    private static func latitude(_ y: Double) -> Double { atan(sinh(.pi * (1 - 2 * y))) * 180 / .pi }

    func x(_ longitude: Double) -> Double { Self.x(longitude) * scale - left }
    func y(_ latitude: Double) -> Double { Self.y(latitude) * scale - top }

    /// The length of metres at a latitude in pixels.
    func length(_ metres: Double, at latitude: Double) -> Double {
      metres / (Self.around * max(cos(latitude * .pi / 180), 0.01)) * scale
    }
  }

  // MARK: Parts

  private var background: [String] {
    let width = Self.plot.right - Self.plot.left
    let height = Self.plot.bottom - Self.plot.top
    let area = """
      x="\(SVG.n(Self.plot.left))" y="\(SVG.n(Self.plot.top))" width="\(SVG.n(width))" height="\(SVG.n(height))"
      """
    return ["<clipPath id=\"plot\"><rect \(area)/></clipPath>", "<rect \(area) fill=\"#f4f6f5\" stroke=\"#cfd8d5\"/>"]
  }

  private var grid: [String] {
    let shown = projection.shown
    let step = Chart.step((shown.east - shown.west) / 9)
    let digits = max(0, Int((-log10(step) - 1e-9).rounded(.up)))
    func label(_ value: Double, _ names: (String, String)) -> String {
      Amounts.fixed(abs(value), digits) + "°" + (value < -step / 2 ? names.1 : names.0)
    }
    let meridians = Self.multiples(of: step, shown.west, shown.east).map { value in
      let x = SVG.n(projection.x(value))
      let longitude = value - 360 * (value / 360).rounded()
      return """
        <path d="M\(x) \(SVG.n(Self.plot.top))V\(SVG.n(Self.plot.bottom))" stroke="#dfe5e3"/>\
        <text class="tick" x="\(x)" y="\(SVG.n(Self.plot.bottom + 18))" text-anchor="middle">\(label(longitude, ("E", "W")))</text>
        """
    }
    let parallels = Self.multiples(of: step, shown.south, shown.north).map { value in
      let y = projection.y(value)
      return """
        <path d="M\(SVG.n(Self.plot.left)) \(SVG.n(y))H\(SVG.n(Self.plot.right))" stroke="#dfe5e3"/>\
        <text class="tick" x="\(SVG.n(Self.plot.left - 6))" y="\(SVG.n(y + 4))" text-anchor="end">\(label(value, ("N", "S")))</text>
        """
    }
    return meridians + parallels
  }

  /// The multiples of a step within a range, at most 100.
  private static func multiples(of step: Double, _ lower: Double, _ upper: Double) -> [Double] {
    stride(from: (lower / step).rounded(.up), through: (upper / step).rounded(.down), by: 1).prefix(100)
      .map { $0 * step }
  }

  private var marks: [String] {
    let span = projection.shown.north - projection.shown.south
    let shapes = CoverageMap.showsLines(count: map.spots.count, span: span) ? lines : circles
    return ["<g clip-path=\"url(#plot)\">"] + shapes + ["</g>"]
  }

  private var circles: [String] {
    map.spots.map { spot in
      let place = spot.fence.place
      let radius = max(projection.length(spot.fence.radius, at: place.latitude), 3)
      return """
        <circle cx="\(SVG.n(projection.x(spot.longitude)))" cy="\(SVG.n(projection.y(place.latitude)))" r="\(SVG.n(radius))" \
        fill="#\(spot.fence.color)" fill-opacity="0.5" stroke="\(Self.edge)" stroke-opacity="0.55"/>
        """
    }
  }

  /// The stretches twice: first wider and dark, as an edge without which yellow could hardly be seen.
  private var lines: [String] {
    let paths = map.lines.map { line in
      let points = line.spots.map { index in
        let spot = map.spots[index]
        return "\(SVG.n(projection.x(spot.longitude))) \(SVG.n(projection.y(spot.fence.place.latitude)))"
      }
      // A path of no length has round ends: a dot.
      return (color: line.color, path: "M" + (points.count == 1 ? points + points : points).joined(separator: "L"))
    }
    func drawn(_ color: String, _ path: String, _ width: Int) -> String {
      """
      <path d="\(path)" fill="none" stroke="#\(color)" stroke-width="\(width)" stroke-linejoin="round" \
      stroke-linecap="round"/>
      """
    }
    return paths.map { drawn("6b7780", $0.path, 7) } + paths.map { drawn($0.color, $0.path, 5) }
  }

  private var nothing: [String] {
    let x = (Self.plot.left + Self.plot.right) / 2
    let y = (Self.plot.top + Self.plot.bottom) / 2
    return [
      "<text class=\"facts\" x=\"\(SVG.n(x))\" y=\"\(SVG.n(y))\" text-anchor=\"middle\">no fence is stored</text>"
    ]
  }

  private var scale: [String] {
    let latitude = (projection.shown.north + projection.shown.south) / 2
    let length = Chart.step(90 / projection.length(1, at: latitude))
    let width = projection.length(length, at: latitude)
    let x = Self.plot.left + 20
    let y = Self.plot.bottom - 20
    let text = length >= 1000 ? "\(Amounts.fixed(length / 1000, 0)) km" : "\(SpeedTestPicture.number(length)) m"
    return [
      """
      <rect x="\(SVG.n(x - 10))" y="\(SVG.n(y - 26))" width="\(SVG.n(width + 20))" height="38" rx="4" fill="#ffffff" \
      fill-opacity="0.85"/>\
      <path d="M\(SVG.n(x)) \(SVG.n(y - 5))v5h\(SVG.n(width))v-5" fill="none" stroke="\(Self.edge)" stroke-width="2"/>\
      <text class="axis" x="\(SVG.n(x))" y="\(SVG.n(y - 10))">\(text)</text>
      """
    ]
  }

  private var north: [String] {
    let x = Self.plot.right - 34
    let y = Self.plot.top + 20
    return [
      """
      <circle cx="\(SVG.n(x))" cy="\(SVG.n(y + 22))" r="30" fill="#ffffff" fill-opacity="0.85"/>\
      <path d="M\(SVG.n(x)) \(SVG.n(y - 2))l9 26l-9 -6l-9 6z" fill="\(Self.edge)"/>\
      <text class="axis" x="\(SVG.n(x))" y="\(SVG.n(y + 42))" text-anchor="middle">N</text>
      """
    ]
  }

  private var legend: [String] {
    let counts = Dictionary(grouping: map.spots, by: { $0.fence.isUncovered ? .none : $0.fence.technology })
      .mapValues(\.count)
    var x = Self.plot.left
    let y = Self.height - 34
    return CoverageTechnology.allCases.compactMap { technology in
      guard let count = counts[technology] else { return nil }
      let text = "\(technology.displayName), \(count)"
      defer { x += 46 + Double(text.count) * 7 }
      return """
        <circle cx="\(SVG.n(x + 8))" cy="\(SVG.n(y))" r="7" fill="#\(technology.color)" stroke="\(Self.edge)" \
        stroke-opacity="0.55"/><text x="\(SVG.n(x + 22))" y="\(SVG.n(y + 4))">\(SVG.escaped(text))</text>
        """
    }
  }
}
