internal import SystemState

/// The telemetry under `powerTelemetry`, with the fields of phones and of other machines.
///
/// Unknown values are left out: the coordinator treats a 0 as an empty battery, and rejects a −1.
struct CoordinatorTelemetry: Encodable, Sendable, Hashable {
  var onExternalPower: Bool
  var batteryLevelPct: Int?
  var lowPowerMode: Bool
  var updatedAtMs: Int64
  // The same values for the coordinator's table of machines other than phones.
  var onACPower: Bool
  var batteryPct: Int?
  var deviceType: String?
  var cpuUsagePct: Double?
  var thermalState: String?

  init(_ power: PowerTelemetry, _ machine: MachineTelemetry) {
    onExternalPower = power.onExternalPower
    batteryLevelPct = power.batteryLevelPct
    lowPowerMode = power.lowPowerMode
    updatedAtMs = power.updatedAtMs
    onACPower = power.onExternalPower
    batteryPct = power.batteryLevelPct
    deviceType = machine.kind?.rawValue
    cpuUsagePct = machine.cpuUsagePct.map { min(max($0, 0), 100) }
    thermalState = machine.thermalState?.rawValue
  }
}

/// The body of `POST /register`.
struct RegisterRequest: Encodable, Sendable, Hashable {
  var agentId: String
  var os = "linux"
  var version: String
  var mode = "swarm-only"
  var registrationToken: String?
  var localModelProvider: String
  var clientType = "edgeblue"
  var maxConcurrentTasks = 1
  var powerTelemetry: CoordinatorTelemetry?
  var publicKeyPem: String?
  var sandboxMode = "none"
}

/// The body of `POST /heartbeat`.
struct HeartbeatRequest: Encodable, Sendable, Hashable {
  var agentId: String
  var powerTelemetry: CoordinatorTelemetry?
  var activeModel: String?
  var activeModelParamSize: Double?
  var modelSwapInProgress: Bool?
  var sandboxMode = "none"
}

/// The coordinator's response to a registration.
struct RegisterReply: Decodable, Sendable, Hashable {
  var accepted: Bool
  /// The token for later requests; `nil` if the coordinator issues none.
  var meshToken: String?

  private enum Key: CodingKey { case accepted, meshToken }

  init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: Key.self)
    accepted = try fields.decode(Bool.self, forKey: .accepted)
    meshToken = fields.text(.meshToken)
    // It becomes a header, and an error of a header would show it.
    guard meshToken?.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) != false else {
      throw DecodingError.dataCorruptedError(forKey: .meshToken, in: fields, debugDescription: "not a token")
    }
  }
}

/// The coordinator's response to a heartbeat.
struct HeartbeatReply: Decodable, Sendable, Hashable {
  var ok: Bool
  var blacklisted: Bool
  var reason: String?
  /// The requests of the coordinator that this program knows, each once.
  var push: Set<CoordinatorPush>

  private enum Key: CodingKey { case ok, blacklisted, reason, push }

  init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: Key.self)
    ok = try fields.decode(Bool.self, forKey: .ok)
    blacklisted = fields.flag(.blacklisted)
    reason = fields.text(.reason)
    push = Set(((try? fields.decode([String].self, forKey: .push)) ?? []).compactMap(CoordinatorPush.init))
  }
}

/// Optional fields, which are ignored when they have an unexpected type.
extension KeyedDecodingContainer {
  func text(_ key: Key) -> String? {
    guard let text = try? decode(String.self, forKey: key), !text.isEmpty else { return nil }
    return text
  }

  func flag(_ key: Key) -> Bool { (try? decode(Bool.self, forKey: key)) ?? false }
}
