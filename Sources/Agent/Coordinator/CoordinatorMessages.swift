internal import SystemState

/// What the coordinator is told of the machine, under `powerTelemetry`: what phones tell, and what other machines tell.
/// What is not known is left out; the coordinator takes a 0 for an empty battery, and refuses a -1.
struct CoordinatorTelemetry: Encodable, Sendable, Hashable {
  var onExternalPower: Bool
  var batteryLevelPct: Int?
  var lowPowerMode: Bool
  var updatedAtMs: Int64
  // The same for the coordinator's table of machines that are no phones.
  var onACPower: Bool
  var batteryPct: Int?
  var deviceType: String?
  var cpuUsagePct: Double?
  var thermalState: String?

  init(_ power: PowerTelemetry, _ machine: MachineTelemetry) {
    (onExternalPower, onACPower) = (power.onExternalPower, power.onExternalPower)
    (batteryLevelPct, batteryPct) = (power.batteryLevelPct, power.batteryLevelPct)
    (lowPowerMode, updatedAtMs) = (power.lowPowerMode, power.updatedAtMs)
    deviceType = machine.kind?.rawValue
    cpuUsagePct = machine.cpuUsagePct.map { min(max($0, 0), 100) }
    thermalState = machine.thermalState?.rawValue
  }
}

/// `POST /register`.
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

/// `POST /heartbeat`.
struct HeartbeatRequest: Encodable, Sendable, Hashable {
  var agentId: String
  var powerTelemetry: CoordinatorTelemetry?
  var activeModel: String?
  var activeModelParamSize: Double?
  var modelSwapInProgress: Bool?
  var sandboxMode = "none"
}

/// What a coordinator says to a registration.
struct RegisterReply: Decodable, Sendable, Hashable {
  var accepted: Bool
  /// `nil` when the coordinator asks for none.
  var meshToken: String?

  private enum Key: CodingKey { case accepted, meshToken }

  init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: Key.self)
    accepted = try fields.decode(Bool.self, forKey: .accepted)
    meshToken = fields.text(.meshToken)
  }
}

/// What a coordinator says to a heartbeat.
struct HeartbeatReply: Decodable, Sendable, Hashable {
  var ok: Bool
  var blacklisted: Bool
  var reason: String?

  private enum Key: CodingKey { case ok, blacklisted, reason }

  init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: Key.self)
    ok = try fields.decode(Bool.self, forKey: .ok)
    blacklisted = fields.flag(.blacklisted)
    reason = fields.text(.reason)
  }
}

/// Fields that help when they are there, and do no harm when they are not what they should be.
extension KeyedDecodingContainer {
  func text(_ key: Key) -> String? {
    guard let text = try? decode(String.self, forKey: key), !text.isEmpty else { return nil }
    return text
  }

  func flag(_ key: Key) -> Bool { (try? decode(Bool.self, forKey: key)) ?? false }
}
