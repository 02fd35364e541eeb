public import FoundationEssentials

/// The stored sessions in the formats of other programs.
public enum CoverageExport {
  /// A session with its fences.
  public struct Part: Sendable, Hashable {
    /// The session that was measured.
    public var session: CoverageSession
    /// The fences of the session, the first first.
    public var fences: [StoredFence]

    /// Creates a part of an export.
    public init(session: CoverageSession, fences: [StoredFence]) {
      self.session = session
      self.fences = fences
    }
  }

  /// Returns a CSV document: a line with names, and a line for each fence.
  public static func csv(_ parts: [Part]) -> Data {
    let names = [
      "session", "uuid", "fence", "entered", "left", "latitude", "longitude", "radius_m", "accuracy_m", "altitude_m",
      "bearing_deg", "speed_mps", "technology", "ping_ms", "answered", "lost", "covered",
    ]
    var lines = [names.joined(separator: ",")]
    for part in parts {
      for fence in part.fences { lines.append(fields(of: fence, in: part.session).joined(separator: ",")) }
    }
    return Data((lines.joined(separator: "\r\n") + "\r\n").utf8)
  }

  private static func fields(of fence: StoredFence, in session: CoverageSession) -> [String] {
    let place = fence.place
    return [
      "\(session.id)", field(session.uuid ?? ""), "\(fence.number)", time(fence.enteredUs),
      fence.exitedUs.map(time) ?? "", "\(place.latitude)", "\(place.longitude)", "\(fence.radius)",
      number(place.accuracy), number(place.altitude), number(place.bearing), number(place.speed),
      fence.technology.rawValue, number(fence.mean), "\(fence.answered)", "\(fence.lost)", "\(!fence.isUncovered)",
    ]
  }

  private static func number(_ value: Double?) -> String { value.map { "\($0)" } ?? "" }

  /// A field of CSV; what a server has named is not trusted to be without commas.
  private static func field(_ text: String) -> String {
    guard text.contains(where: { ",\"\r\n".contains($0) }) else { return text }
    return "\"" + text.replacing("\"", with: "\"\"") + "\""
  }

  /// Returns a GeoJSON document: a collection with a point for each fence.
  ///
  /// The radius in metres, the times and the colour on a map are properties of the point.
  public static func geoJSON(_ parts: [Part]) -> Data {
    let features = parts.flatMap { part in part.fences.map { Feature(fence: $0, session: part.session) } }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Every number of a stored fence is finite, and so can be encoded.
    return (try? encoder.encode(Collection(features: features))) ?? Data()
  }

  /// Returns lines of JSON, each a feature of GeoJSON with a fence, which programs for analysis read as a table.
  public static func geoJSONLines(_ part: Part) -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Every number of a stored fence is finite, and so can be encoded.
    return part.fences.reduce(into: Data()) { data, fence in
      data += (try? encoder.encode(Feature(fence: fence, session: part.session))) ?? Data()
      data += Data("\n".utf8)
    }
  }

  /// Returns a GPX document: a track for each session, with what was measured in the description of each point.
  public static func gpx(_ parts: [Part]) -> Data {
    var text = """
      <?xml version="1.0" encoding="UTF-8"?>
      <gpx version="1.1" creator="EdgeBlue" xmlns="http://www.topografix.com/GPX/1/1">

      """
    for part in parts where !part.fences.isEmpty {
      text += "<trk><name>session \(part.session.id)</name><trkseg>\n"
      for fence in part.fences {
        let height = fence.place.altitude.map { "<ele>\($0)</ele>" } ?? ""
        text += """
          <trkpt lat="\(fence.place.latitude)" lon="\(fence.place.longitude)">\(height)<time>\(time(fence.enteredUs))\
          </time><name>\(fence.number)</name><desc>\(words(for: fence))</desc></trkpt>

          """
      }
      text += "</trkseg></trk>\n"
    }
    return Data((text + "</gpx>\n").utf8)
  }

  private static func words(for fence: StoredFence) -> String {
    let ping = fence.mean.map { "ping \($0) ms" } ?? "no ping"
    return fence.isUncovered ? "no coverage" : "\(fence.technology.displayName), \(ping)"
  }

  /// An instant as RFC 3339 has it, in UTC with milliseconds.
  static func time(_ microseconds: Int64) -> String {
    let date = Date(timeIntervalSince1970: Double(microseconds / 1000) / 1000)
    return date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
  }
}

private struct Collection: Encodable {
  var type = "FeatureCollection"
  var features: [Feature]
}

private struct Feature: Encodable {
  private struct Point: Encodable {
    var type = "Point"
    var coordinates: [Double]
  }

  private struct Properties: Encodable {
    var session: Int64
    var uuid: String?
    var fence: Int
    var entered: String
    var left: String?
    var radius: Double
    var accuracy: Double?
    var technology: String
    var pingMs: Double?
    var answered: Int
    var lost: Int
    var covered: Bool
    var color: String
  }

  private var type = "Feature"
  private var geometry: Point
  private var properties: Properties

  init(fence: StoredFence, session: CoverageSession) {
    let height = fence.place.altitude.map { [$0] } ?? []
    geometry = Point(coordinates: [fence.place.longitude, fence.place.latitude] + height)
    properties = Properties(
      session: session.id, uuid: session.uuid, fence: fence.number, entered: CoverageExport.time(fence.enteredUs),
      left: fence.exitedUs.map(CoverageExport.time), radius: fence.radius, accuracy: fence.place.accuracy,
      technology: fence.technology.rawValue, pingMs: fence.mean, answered: fence.answered, lost: fence.lost,
      covered: !fence.isUncovered, color: "#" + fence.color)
  }
}
