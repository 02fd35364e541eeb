import Foundation

/// What a request to a coordinator may hold, and must: unknown keys are an error, so that a misspelt one is.
struct Schema: Sendable {
  enum Field: Sendable {
    case text(ClosedRange<Int>)
    case oneOf([String])
    case integer(ClosedRange<Double>)
    case number(ClosedRange<Double>)
    case bool
    case object(Schema)
  }

  var required: [String: Field]
  var optional: [String: Field] = [:]

  /// What is wrong with a JSON document; nothing when all is right.
  func faults(_ data: Data, at path: String) -> [String] {
    guard let object = (try? JSONSerialization.jsonObject(with: data)) as? [String: Any] else {
      return ["\(path): no JSON object"]
    }
    return faults(object, at: path)
  }

  private func faults(_ object: [String: Any], at path: String) -> [String] {
    var faults = Set(required.keys).subtracting(object.keys).map { "\(path).\($0) is missing" }
    for (key, value) in object {
      guard let field = required[key] ?? optional[key] else {
        faults.append("\(path).\(key) is unknown")
        continue
      }
      faults += Self.faults(value, field, at: "\(path).\(key)")
    }
    return faults.sorted()
  }

  private static func faults(_ value: Any, _ field: Field, at path: String) -> [String] {
    let number = (value as? NSNumber).flatMap { isBool($0) ? nil : $0.doubleValue }
    let isRight: Bool
    switch field {
    case .text(let range): isRight = (value as? String).map { range.contains($0.count) } ?? false
    case .oneOf(let words): isRight = (value as? String).map(words.contains) ?? false
    case .integer(let range): isRight = number.map { range.contains($0) && $0 == $0.rounded() } ?? false
    case .number(let range): isRight = number.map(range.contains) ?? false
    case .bool: isRight = (value as? NSNumber).map(isBool) ?? false
    case .object(let schema):
      guard let object = value as? [String: Any] else { return ["\(path) is no object"] }
      return schema.faults(object, at: path)
    }
    return isRight ? [] : ["\(path) cannot be \(value)"]
  }

  private static func isBool(_ number: NSNumber) -> Bool { String(cString: number.objCType) == "c" }
}

extension Schema {
  /// What an agent sends, by path.
  static let requests: [String: Schema] = [
    "/register": Schema(
      required: [
        "agentId": .text(1...1000), "os": .text(2...1000), "version": .text(1...1000),
        "mode": .oneOf(["swarm-only", "ide-enabled"]),
      ],
      optional: [
        "deviceId": .text(3...128), "registrationToken": .text(0...1000),
        "localModelProvider": .oneOf(["edgecoder-local", "ollama-local"]), "clientType": .text(1...64),
        "maxConcurrentTasks": .integer(1...64), "powerTelemetry": .object(telemetry), "publicKeyPem": .text(1...1000),
        "x25519PublicKey": .text(1...1000), "sandboxMode": .oneOf(["none", "docker", "vm"]),
      ]),
    "/heartbeat": Schema(
      required: ["agentId": .text(1...1000)],
      optional: [
        "powerTelemetry": .object(telemetry), "activeModel": .text(1...1000),
        "activeModelParamSize": .number(0...10_000), "modelSwapInProgress": .bool,
        "sandboxMode": .oneOf(["none", "docker", "vm"]),
      ]),
    "/pull": Schema(required: ["agentId": .text(1...1000)]),
    "/result": Schema(
      required: [
        "subtaskId": .text(1...1000), "taskId": .text(1...1000), "agentId": .text(1...1000), "ok": .bool,
        "output": .text(0...1_000_000), "durationMs": .number(0...86_400_000),
      ],
      optional: ["error": .text(1...1000)]),
  ]

  private static let telemetry = Schema(
    required: [:],
    optional: [
      "onExternalPower": .bool, "batteryLevelPct": .number(0...100), "lowPowerMode": .bool,
      "updatedAtMs": .number(0...1e15), "onACPower": .bool, "batteryPct": .number(0...100),
      "deviceType": .oneOf(["server", "desktop", "laptop", "phone", "workstation"]), "cpuUsagePct": .number(0...100),
      "thermalState": .oneOf(["nominal", "fair", "serious", "critical"]),
    ])
}
