internal import FoundationEssentials
internal import Glibc
internal import Timing

/// The document that a control server takes for a session.
struct FenceDocument: Encodable {
  private enum Key: String, CodingKey {
    case session = "test_uuid"
    case fences
  }

  private let session: String
  private let fences: [Entry]

  /// Creates the document of a session with an identifier and an anchor.
  init(uuid: String, anchorUs: Int64, fences: [StoredFence]) {
    session = uuid
    self.fences = fences.map { Entry(fence: $0, anchorUs: anchorUs) }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(session, forKey: .session)
    try container.encode(fences, forKey: .fences)
  }

  /// The document as bytes, the same ones each time.
  var data: Data {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys]
      return try encoder.encode(self)
    }
  }
}

private struct Entry: Encodable {
  let fence: StoredFence
  let anchorUs: Int64

  private enum Key: String, CodingKey {
    case entered = "timestamp_microseconds"
    case location, technology, radius
    case mean = "avg_ping_ms"
    case offset = "offset_ms"
    case duration = "duration_ms"
    case technologyID = "technology_id"
  }

  private enum PlaceKey: String, CodingKey {
    case latitude, longitude, accuracy, altitude, bearing, speed
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(max(fence.enteredUs, 0), forKey: .entered)
    try container.encodeIfPresent(fence.mean, forKey: .mean)
    try container.encode(fence.enteredUs.subtractingClamped(anchorUs) / 1000, forKey: .offset)
    let length = fence.exitedUs.map { max($0.subtractingClamped(fence.enteredUs), 0) / 1000 }
    try container.encodeIfPresent(length, forKey: .duration)
    try container.encodeIfPresent(fence.technology.serverName, forKey: .technology)
    try container.encodeIfPresent(fence.technology.id, forKey: .technologyID)
    try container.encode(Int(min(max(fence.radius.rounded(), 0), 1e9)), forKey: .radius)
    var place = container.nestedContainer(keyedBy: PlaceKey.self, forKey: .location)
    try place.encode(fence.place.latitude, forKey: .latitude)
    try place.encode(fence.place.longitude, forKey: .longitude)
    try place.encodeIfPresent(Self.rounded(fence.place.accuracy, 1), forKey: .accuracy)
    try place.encodeIfPresent(Self.rounded(fence.place.altitude, 1), forKey: .altitude)
    try place.encodeIfPresent(fence.place.bearing.map { Int($0.rounded()) % 360 }, forKey: .bearing)
    try place.encodeIfPresent(Self.rounded(fence.place.speed, 2), forKey: .speed)
  }

  private static func rounded(_ value: Double?, _ digits: Int) -> Double? {
    let factor = pow(10, Double(digits))
    return value.map { ($0 * factor).rounded() / factor }
  }
}
