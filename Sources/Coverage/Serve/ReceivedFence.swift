internal import FoundationEssentials
internal import Timing

/// A fence as a client sends it in a result.
struct ReceivedFence: Sendable, Hashable, Codable {
  var enteredUs: Int64
  var location: Place
  var meanMs: Double?
  var offsetMs: Int64
  var durationMs: Int64?
  var technology: String?
  var technologyID: Int?
  var radius: Double

  /// The location at which a fence was entered.
  struct Place: Sendable, Hashable, Codable {
    var latitude: Double
    var longitude: Double
    var accuracy: Double?
    var altitude: Double?
    var bearing: Double?
    var speed: Double?
  }

  private enum CodingKeys: String, CodingKey {
    case location, technology, radius
    case enteredUs = "timestamp_microseconds"
    case meanMs = "avg_ping_ms"
    case offsetMs = "offset_ms"
    case durationMs = "duration_ms"
    case technologyID = "technology_id"
  }

  /// The reason for which a fence is refused; `nil` for a good one.
  var problem: String? {
    if enteredUs < 0 { return "timestamp_microseconds is negative" }
    if coverageLocation == nil { return "location is no place on the Earth" }
    if let meanMs, !(0...1e6).contains(meanMs) { return "avg_ping_ms is out of range" }
    if let durationMs, !(0...Self.longest).contains(durationMs) { return "duration_ms is out of range" }
    if !(0...1e6).contains(radius) { return "radius is out of range" }
    if let technology, technology.utf8.count > 64 { return "technology is too long" }
    return nil
  }

  /// The longest time within a fence in milliseconds: a day, which no session lasts.
  private static let longest: Int64 = 86_400_000

  private var coverageLocation: CoverageLocation? {
    CoverageLocation(
      latitude: location.latitude, longitude: location.longitude, accuracy: location.accuracy,
      altitude: location.altitude, bearing: location.bearing, speed: location.speed)
  }

  /// Returns the fence as it is stored. The counts of pings are not sent: a mean counts as one ping with a reply, and its
  /// absence as one without.
  func stored(number: Int) -> StoredFence? {
    guard let place = coverageLocation else { return nil }
    return StoredFence(received: self, place, number: number)
  }

  /// The technology by its number, or by its name; `.unknown` for one that this program does not know.
  fileprivate var known: CoverageTechnology {
    let all = CoverageTechnology.allCases
    if let technologyID, let found = all.first(where: { $0.id == technologyID }) { return found }
    return technology.flatMap { name in all.first { $0.serverName == name } } ?? .unknown
  }
}

extension StoredFence {
  fileprivate init(received fence: ReceivedFence, _ place: CoverageLocation, number: Int) {
    self.number = number
    enteredUs = fence.enteredUs
    exitedUs = fence.durationMs.map { fence.enteredUs.addingClamped($0 * 1000) }
    self.place = place
    radius = fence.radius
    technology = fence.known
    answered = fence.meanMs == nil ? 0 : 1
    lost = fence.meanMs == nil ? 1 : 0
    meanHundredths = fence.meanMs.map { Int64(($0 * 100).rounded()) }
  }
}

/// The members of a request to a control server that matter here; a member of another type is an error.
struct ServedRequest: Decodable {
  var client: String?
  var uuid: String?
  var time: Int64?
  var kind: String?
  var loop: String?
  var session: String?
  var fences: [ReceivedFence]?

  private enum CodingKeys: String, CodingKey {
    case uuid, time, fences
    case client = "client_uuid"
    case kind = "measurement_type_flag"
    case loop = "loop_uuid"
    case session = "test_uuid"
  }

  /// Reads the body of a request.
  /// - Throws: ``Refusal`` that names what is wrong with it.
  init(_ body: Data) throws(Refusal) {
    do {
      self = try JSONDecoder().decode(ServedRequest.self, from: body)
    } catch let error as DecodingError {
      throw Refusal(Self.words(error))
    } catch {
      throw Refusal("the body is not a JSON object")
    }
    guard fences?.count ?? 0 <= Self.fenceLimit else { throw Refusal("more than \(Self.fenceLimit) fences") }
    for (index, fence) in (fences ?? []).enumerated() {
      if let problem = fence.problem { throw Refusal("fences[\(index)]: \(problem)") }
    }
  }

  /// The largest number of fences of a session: a new one every second for 4 hours, and half as many again.
  static let fenceLimit = 21_600

  /// The identifier of the client; some clients name it `uuid` alone, and some write a `U` before it.
  var clientID: String? { (client ?? uuid).map { $0.hasPrefix("U") ? String($0.dropFirst()) : $0 } }

  private static func words(_ error: DecodingError) -> String {
    switch error {
    case .keyNotFound(let key, let context): "\(path(context.codingPath + [key])) is missing"
    case .typeMismatch(_, let context), .valueNotFound(_, let context):
      context.codingPath.isEmpty ? "the body is not a JSON object" : "\(path(context.codingPath)) is of another type"
    default: "the body is not JSON"
    }
  }

  private static func path(_ keys: [any CodingKey]) -> String {
    keys.reduce("") { text, key in
      if let index = key.intValue { return text + "[\(index)]" }
      return text.isEmpty ? key.stringValue : text + "." + key.stringValue
    }
  }

  /// A request that is refused, with the reason.
  struct Refusal: Error {
    var status: Int
    var reason: String

    init(_ reason: String, status: Int = 400) {
      self.reason = reason
      self.status = status
    }
  }
}
