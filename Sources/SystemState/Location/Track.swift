internal import DurableFiles
internal import Streams
internal import Timing

/// A recorded track: locations with the times between them.
struct Track: Sendable, Hashable {
  /// A location of a track, and its time since the first one.
  struct Point: Sendable, Hashable {
    var offset: Duration
    var fix: LocationFix
  }

  let points: [Point]

  /// The largest file in bytes.
  static let sizeLimit = 64 << 20
  /// The largest number of points.
  static let pointLimit = 1_000_000
  /// The time between two points of a track that has no times.
  private static let step: Int64 = 1000
  /// The error in metres of a point whose receiver has noted none.
  static let assumedError = 10.0
  /// The horizontal error in metres for each unit of dilution of precision, as gpsd estimates it.
  static let errorPerDilution = 19.0

  /// The mark of UTF-8 that some programs write before text.
  private static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]

  /// Reads a track from a file in GPX or NMEA 0183.
  init(path: String) throws(LocationError) {
    let bytes: [UInt8]?
    do {
      bytes = try Disk().read(path, limit: Self.sizeLimit, followsLinks: true)
    } catch {
      throw LocationError(.storage, "read the track: \(error)", errno: error.errno)
    }
    guard let bytes else { throw LocationError(.storage, "read the track: \(path) does not exist") }
    guard bytes.count <= Self.sizeLimit else {
      throw LocationError(.invalidArgument, "the track \(path) has more than \(Self.sizeLimit >> 20) MiB")
    }
    guard let track = Track(bytes) else {
      throw LocationError(.invalidArgument, "\(path) is no track: it has no points in GPX or NMEA 0183")
    }
    self = track
  }

  /// Reads a track from the bytes of a file; `nil` if there is no point in them.
  init?(_ bytes: [UInt8]) {
    // Loggers write lines of their own before the first sentence of NMEA; XML begins with a tag, maybe after its mark.
    let text = bytes.starts(with: Self.byteOrderMark) ? bytes.dropFirst(Self.byteOrderMark.count) : bytes[...]
    let isGPX = text.first { $0 > 0x20 } == UInt8(ascii: "<")
    let fixes = isGPX ? GPXReader.fixes(in: text) : NMEAReader.fixes(in: text)
    guard !fixes.isEmpty else { return nil }
    let start = fixes.first { $0.measuredAtMs != nil }?.measuredAtMs
    var offset: Int64 = 0
    points = fixes.enumerated().map { index, fix in
      if let start, let time = fix.measuredAtMs {
        // Times that run backwards do not turn time back.
        offset = max(offset, time - start)
      } else if index > 0 {
        offset += Self.step
      }
      var fix = fix
      fix.error = fix.error ?? Self.assumedError
      return Point(offset: .milliseconds(offset), fix: fix)
    }
  }

  /// Publishes the points at the pace of their times, and then the end.
  func play(into feed: UpdateFeed<LocationUpdate>, speed: Double, time: TimeSource) async {
    let start = time.now
    do {
      for point in points {
        try await time.sleep(until: start + point.offset / speed)
        feed.publish(.fix(point.fix))
      }
      feed.publish(.ended)
    } catch {
      // Cancelled: the monitor is closed.
    }
    feed.end()
  }
}

/// A reader of the track points of a GPX file. It reads no XML but what GPX needs, and expands no entities.
enum GPXReader {
  static func fixes(in bytes: ArraySlice<UInt8>) -> [LocationFix] {
    var fixes: [LocationFix] = []
    var rest = bytes
    while fixes.count < Track.pointLimit, let tag = rest.range(of: "<trkpt") {
      rest = rest[tag.upperBound...]
      guard let close = rest.firstIndex(of: UInt8(ascii: ">")) else { break }
      let head = rest[..<close]
      rest = rest[(close + 1)...]
      var body = rest[rest.startIndex..<rest.startIndex]
      if head.last != UInt8(ascii: "/") {
        guard let end = rest.range(of: "</trkpt>") else { break }
        body = rest[..<end.lowerBound]
        rest = rest[end.upperBound...]
      }
      if let fix = fix(head, body) { fixes.append(fix) }
    }
    return fixes
  }

  private static func fix(_ head: ArraySlice<UInt8>, _ body: ArraySlice<UInt8>) -> LocationFix? {
    guard let latitude = head.attribute("lat="), let longitude = head.attribute("lon="),
      var fix = LocationFix(latitude: latitude, longitude: longitude)
    else { return nil }
    fix.altitude = body.element("<ele").flatMap { Double($0) }
    fix.measuredAtMs = body.element("<time").flatMap(ISO8601.milliseconds)
    let dilution = body.element("<hdop").flatMap { Double($0) }
    fix.error = dilution.flatMap { $0.isFinite && $0 >= 0 ? $0 * Track.errorPerDilution : nil }
    return fix
  }
}

extension ArraySlice<UInt8> {
  /// Returns the first place of a text.
  fileprivate func range(of text: StaticString) -> Range<Int>? {
    let count = text.utf8CodeUnitCount
    let wanted = UnsafeBufferPointer(start: text.utf8Start, count: count)
    guard let first = wanted.first else { return nil }
    var from = startIndex
    while let start = self[from...].firstIndex(of: first), start + count <= endIndex {
      if self[start..<start + count].elementsEqual(wanted) { return start..<start + count }
      from = start + 1
    }
    return nil
  }

  /// Returns the number in an attribute, which has either kind of quotes.
  fileprivate func attribute(_ name: StaticString) -> Double? {
    var rest = self
    while let place = rest.range(of: name) {
      let value = rest[place.upperBound...]
      let isWhole = place.lowerBound > rest.startIndex && rest[place.lowerBound - 1] <= 0x20
      rest = value
      guard isWhole, let quote = value.first, quote == 0x22 || quote == 0x27 else { continue }
      let text = value.dropFirst()
      guard let end = text.firstIndex(of: quote) else { return nil }
      return Double(String(decoding: text[..<end], as: UTF8.self))
    }
    return nil
  }

  /// Returns the text of a simple element.
  fileprivate func element(_ name: StaticString) -> String? {
    guard let tag = range(of: name),
      let start = self[tag.upperBound...].firstIndex(of: UInt8(ascii: ">")),
      let end = self[start...].firstIndex(of: UInt8(ascii: "<"))
    else { return nil }
    let text = String(decoding: self[(start + 1)..<end], as: UTF8.self)
    return String(text.drop { $0.isWhitespace }.prefix { !$0.isWhitespace })
  }
}
