public import FoundationEssentials

/// A map as a page of HTML that needs no network and no other file.
///
/// It shows fences as circles, or as lines when many of them are seen from afar. The reader can choose the time, and click
/// on a fence for its figures.
public enum CoverageMapPage {
  /// The library that moves the map; the page has a smaller one of its own for machines without it.
  public struct Leaflet: Sendable, Hashable {
    /// The script of the library.
    public var script: String
    /// The style sheet of the library.
    public var style: String

    /// Creates a library from its files; returns `nil` for text that would end its place in the page.
    public init?(script: String, style: String) {
      guard !script.lowercased().contains("</script"), !style.lowercased().contains("</style") else { return nil }
      self.script = script
      self.style = style
    }
  }

  /// Returns the page of a map.
  /// - Parameters:
  ///   - map: The sessions and their fences.
  ///   - leaflet: The library that moves the map, with which the reader can also switch on a background from
  ///     OpenStreetMap; `nil` for the page's own.
  public static func html(_ map: CoverageMap, leaflet: Leaflet? = nil) -> Data {
    var page = Data(head(leaflet).utf8)
    page.append(data(of: map))
    page.append(contentsOf: foot(leaflet).utf8)
    return page
  }

  /// The beginning of each page, by which a page of an earlier run is known.
  public static let mark = "<!DOCTYPE html>\n<!-- A map of coverage by EdgeBlue. -->"

  private static func head(_ leaflet: Leaflet?) -> String {
    let images = "data:" + (leaflet == nil ? "" : " https://tile.openstreetmap.org")
    return """
      \(mark)
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; \
      style-src 'unsafe-inline'; img-src \(images); base-uri 'none'; form-action 'none'">
      <title>Coverage</title>
      <link rel="icon" href="data:,">
      <style>\(leaflet?.style ?? "")</style>
      <style>\(style)</style>
      </head>
      <body>
      <div id="map" tabindex="0" role="application" aria-label="Map of fences"></div>
      <section id="panel">
      <h1>Coverage</h1>
      <p id="summary"></p>
      <ul id="legend"></ul>
      <label id="tiles" hidden><input type="checkbox"> Background from openstreetmap.org, \
      which then sees where you look</label>
      <dl id="details" hidden></dl>
      </section>
      <form id="time" hidden>
      <label>from <input id="from" type="range" min="0" max="1000" value="0" aria-label="First time shown"></label>
      <output id="range"></output>
      <label><input id="to" type="range" min="0" max="1000" value="1000" aria-label="Last time shown"> to</label>
      </form>
      <div id="zoom" hidden><button type="button" aria-label="Zoom in">+</button>\
      <button type="button" aria-label="Zoom out">−</button></div>
      <script type="application/json" id="data">
      """
  }

  private static func foot(_ leaflet: Leaflet?) -> String {
    let library = leaflet.map { "<script>\($0.script)</script>\n" } ?? ""
    return """
      </script>
      \(library)<script>\(script)</script>
      </body>
      </html>

      """
  }

  // MARK: Data

  /// Returns the sessions and fences as JSON: a flat list of whole numbers for the fences, which is read and written faster
  /// than objects.
  static func data(of map: CoverageMap) -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    let startMs = (map.spots.first?.fence.enteredUs ?? 0) / 1000
    let facts = Facts(map, startMs: startMs)
    // Every member is text or a whole number, and so can be encoded.
    let text = String(decoding: (try? encoder.encode(facts)) ?? Data(), as: UTF8.self)
    // What a server has named must not end the place of the data in the page.
    var bytes = Array(text.replacing("<", with: "\\u003c").utf8.dropLast())
    bytes.reserveCapacity(bytes.count + 80 * map.spots.count)
    bytes += Array(",\"fences\":[".utf8)
    for (index, spot) in map.spots.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      append(spot, startMs: startMs, to: &bytes)
    }
    bytes += Array("]}".utf8)
    return Data(bytes)
  }

  private struct Facts: Encodable {
    var start: Int64
    var bounds: [Double]
    var sessions: [[String]]
    var technologies: [[String]]
    var lineCount = CoverageMap.lineCount
    var lineSpan = CoverageMap.lineSpan
    var margin = CoverageMap.margin

    init(_ map: CoverageMap, startMs: Int64) {
      start = startMs
      bounds = map.bounds.map { [$0.south, $0.west, $0.north, $0.east] } ?? []
      sessions = map.sessions.map { ["\($0.id)", $0.uuid ?? "", $0.server] }
      technologies = CoverageTechnology.allCases.map { [$0.displayName, $0.color] }
    }
  }

  /// The fields of a fence, as the script reads them.
  private static func append(_ spot: CoverageMap.Spot, startMs: Int64, to bytes: inout [UInt8]) {
    let fence = spot.fence
    let technology = CoverageTechnology.allCases.firstIndex(of: fence.technology) ?? 0
    let fields: [Int64] = [
      Int64(spot.session), Int64(fence.number), whole(fence.place.latitude * 1e7), whole(spot.longitude * 1e7),
      whole(fence.radius * 10), fence.enteredUs / 1000 - startMs, fence.exitedUs.map { $0 / 1000 - startMs } ?? -1,
      Int64(technology), (spot.joins ? 1 : 0) + (fence.isUncovered ? 2 : 0), fence.meanHundredths ?? -1,
      Int64(fence.answered), Int64(fence.lost), whole((fence.place.accuracy ?? -0.1) * 10),
    ]
    var isFirst = true
    for field in fields {
      if !isFirst { bytes.append(UInt8(ascii: ",")) }
      isFirst = false
      append(field, to: &bytes)
    }
  }

  private static func whole(_ value: Double) -> Int64 { Int64(min(max(value, -1e15), 1e15).rounded()) }

  /// Appends a number without a string of its own, which would take longer than all else.
  private static func append(_ value: Int64, to bytes: inout [UInt8]) {
    if value < 0 { bytes.append(UInt8(ascii: "-")) }
    var rest = value.magnitude
    let start = bytes.count
    repeat {
      bytes.append(UInt8(ascii: "0") + UInt8(rest % 10))
      rest /= 10
    } while rest > 0
    bytes[start...].reverse()
  }
}
