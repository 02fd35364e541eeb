internal import Glibc

/// The stored fences of sessions as a map shows them, in the order of time.
public struct CoverageMap: Sendable, Hashable {
  /// A fence on a map.
  public struct Spot: Sendable, Hashable {
    /// The fence as it is stored.
    public var fence: StoredFence
    /// The place of its session in ``CoverageMap/sessions``.
    public var session: Int
    /// The longitude in degrees; east of 180 or west of −180 if the walk crosses the antimeridian.
    public var longitude: Double
    /// A Boolean value that indicates whether the way from the spot before belongs to the walk.
    public var joins: Bool
  }

  /// A stretch of a walk in one colour.
  public struct Line: Sendable, Hashable {
    /// The colour, as six hexadecimal digits.
    public var color: String
    /// The technology that was recorded on the stretch.
    public var technology: CoverageTechnology
    /// The indices of its spots; with one alone, the stretch is a dot.
    public var spots: [Int]
  }

  /// A part of the Earth between two parallels and two meridians, in degrees.
  public struct Bounds: Sendable, Hashable {
    /// The latitude of the southern edge.
    public var south: Double
    /// The longitude of the western edge.
    public var west: Double
    /// The latitude of the northern edge.
    public var north: Double
    /// The longitude of the eastern edge, never less than the western one.
    public var east: Double

    /// Creates a region from its edges.
    public init(south: Double, west: Double, north: Double, east: Double) {
      self.south = south
      self.west = west
      self.north = north
      self.east = east
    }
  }

  /// The sessions that the fences belong to.
  public let sessions: [CoverageSession]
  /// The fences, the first entered first.
  public let spots: [Spot]

  /// The number of spots from which on a map of a large region shows lines.
  public static let lineCount = 60
  /// The height of a region in degrees from which on a map of many spots shows lines.
  public static let lineSpan = 0.03
  /// The factor by which a region is larger than what is seen of it, so that nothing is missing at its edges.
  public static let margin = 1.2
  /// The largest gap between two spots that are joined, in radii of the earlier one.
  private static let gap = 4.0
  /// The radius of a spot without one, in metres.
  private static let defaultRadius = 20.0

  /// Creates a map of sessions with their fences.
  public init(_ parts: [CoverageExport.Part]) {
    sessions = parts.map(\.session)
    let sorted = parts.enumerated()
      .flatMap { part in part.element.fences.map { (fence: $0, session: part.offset) } }
      .sorted { ($0.fence.enteredUs, $0.session, $0.fence.number) < ($1.fence.enteredUs, $1.session, $1.fence.number) }
    let first = sorted.first?.fence.place.longitude ?? 0
    var before: (fence: StoredFence, session: Int)?
    spots = sorted.map { entry in
      defer { before = entry }
      let joins = before.map { last in
        Self.isSameWalk(parts[last.session].session, parts[entry.session].session)
          && Self.joins(last.fence, to: entry.fence)
      }
      let turns = ((entry.fence.place.longitude - first) / 360).rounded()
      return Spot(
        fence: entry.fence, session: entry.session, longitude: entry.fence.place.longitude - 360 * turns,
        joins: joins ?? false)
    }
  }

  /// A session that follows another one within a run continues its walk.
  private static func isSameWalk(_ first: CoverageSession, _ second: CoverageSession) -> Bool {
    first.id == second.id || first.run != nil && first.run == second.run
  }

  private static func joins(_ first: StoredFence, to second: StoredFence) -> Bool {
    let radius = first.radius > 0 ? first.radius : defaultRadius
    return first.place.place.distance(to: second.place.place) <= gap * radius
  }

  // MARK: Regions

  /// Returns `true` if a map shows lines instead of circles.
  /// - Parameters:
  ///   - count: The number of spots.
  ///   - span: The height of the shown region in degrees.
  public static func showsLines(count: Int, span: Double) -> Bool { count >= lineCount && span >= lineSpan }

  /// The smallest region that contains all circles; `nil` without one.
  public var bounds: Bounds? {
    guard !spots.isEmpty else { return nil }
    var bounds = Bounds(south: 90, west: .infinity, north: -90, east: -.infinity)
    for spot in spots {
      let place = spot.fence.place
      let height = spot.fence.radius / 111_195
      let width = height / max(cos(place.latitude * .pi / 180), 0.01)
      bounds.south = max(min(bounds.south, place.latitude - height), -90)
      bounds.north = min(max(bounds.north, place.latitude + height), 90)
      bounds.west = min(bounds.west, spot.longitude - width)
      bounds.east = max(bounds.east, spot.longitude + width)
    }
    return bounds
  }

  /// Returns the indices of the spots in a region, with a margin. A region without a size contains none.
  public func spots(in region: Bounds) -> [Int] {
    let height = (region.north - region.south) * Self.margin / 2
    let width = (region.east - region.west) * Self.margin / 2
    guard height > 0, width > 0 else { return [] }
    let latitude = (region.north + region.south) / 2
    let longitude = (region.east + region.west) / 2
    return spots.indices.filter { index in
      abs(spots[index].fence.place.latitude - latitude) <= height && abs(spots[index].longitude - longitude) <= width
    }
  }

  /// The stretches of the walks, each of one colour and technology. The way to a spot of another one belongs to the earlier
  /// stretch, on which it was measured.
  public var lines: [Line] {
    var lines: [Line] = []
    for (index, spot) in spots.enumerated() {
      let color = spot.fence.color
      let technology = spot.fence.technology
      if spot.joins, let last = lines.last {
        lines[lines.count - 1].spots.append(index)
        if last.color == color, last.technology == technology { continue }
      }
      lines.append(Line(color: color, technology: technology, spots: [index]))
    }
    return lines
  }
}
