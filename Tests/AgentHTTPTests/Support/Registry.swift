import Crypto
import Foundation
import Streams

/// What a test coordinator knows: who has registered, what was asked, and everything about it that was not right.
final class Registry: Sendable {
  struct Seen: Sendable {
    var path: String
    var body: Data
    var isSigned: Bool
    /// The field `Idempotency-Key`, with its quotes.
    var idempotencyKey: String?
    /// The field `User-Agent`.
    var userAgent: String?
    var status: Int

    /// The field of the body.
    func text(_ key: String) -> String? { json[key] as? String }
    var json: [String: Any] { (try? JSONSerialization.jsonObject(with: body)) as? [String: Any] ?? [:] }
  }

  private struct State {
    var keys: [String: Curve25519.Signing.PublicKey?] = [:]
    var nonces: Set<String> = []
    var seen: [Seen] = []
    var faults: [String] = []
    var tasks: [String] = []
    var watchers: [(condition: @Sendable ([Seen]) -> Bool, source: BoundedStream<Void>.Source)] = []
  }

  /// `nil`: everybody may.
  let meshToken: String?
  private let state = Lock(State())

  init(meshToken: String? = "mesh-secret") { self.meshToken = meshToken }

  var seen: [Seen] { state.withLock { $0.seen } }
  /// What was not as the protocol has it; a test wants none.
  var faults: [String] { state.withLock { $0.faults } }

  func count(_ path: String) -> Int { seen.filter { $0.path == path }.count }

  /// Forgets all registrations, as a restart does.
  func forget() { state.withLock { ($0.keys, $0.nonces) = ([:], []) } }

  /// Queues a subtask, as JSON, for the next agent that pulls.
  func offer(_ subtask: String) { state.withLock { $0.tasks.append(subtask) } }

  /// Waits until what was asked so far fulfils a condition, or the test is cancelled.
  func until(_ condition: @escaping @Sendable ([Seen]) -> Bool) async {
    let (stream, source) = BoundedStream.make(of: Void.self, limit: 1)
    let isSo = state.withLock { state in
      if condition(state.seen) { return true }
      state.watchers.append((condition, source))
      return false
    }
    if isSo { source.finish() }
    for await _ in stream {}
  }

  func note(_ seen: Seen) {
    let ready = state.withLock { state in
      state.seen.append(seen)
      let ready = state.watchers.filter { $0.condition(state.seen) }
      state.watchers.removeAll { $0.condition(state.seen) }
      return ready
    }
    for watcher in ready { watcher.source.finish() }
  }

  /// A request as the coordinator treats it when it behaves.
  func answer(_ path: String, _ headers: [String: String], _ body: Data) -> (status: Int, body: String) {
    guard let schema = Schema.requests[path] else { return (404, #"{"error":"not found"}"#) }
    let faults = schema.faults(body, at: path)
    state.withLock { $0.faults += faults }
    guard faults.isEmpty, let object = (try? JSONSerialization.jsonObject(with: body)) as? [String: Any],
      let agent = object["agentId"] as? String
    else { return (500, #"{"statusCode":500,"error":"Internal Server Error"}"#) }
    if path == "/register" { return register(agent, object) }
    if let meshToken, headers["x-mesh-token"] != meshToken { return (401, #"{"error":"mesh_unauthorized"}"#) }
    return state.withLock { state in
      if let refusal = Self.signatureFault(path, headers, body, agent, &state) {
        state.faults.append("\(path): \(refusal)")
        return (401, #"{"error":"\#(refusal)"}"#)
      }
      guard state.keys[agent] != nil else {
        return (401, #"{"error":"mesh_unauthorized","reason":"agent_not_registered"}"#)
      }
      switch path {
      case "/heartbeat":
        return (
          200, #"{"ok":true,"requeued":0,"policy":{},"orchestration":null,"blacklist":{"version":1,"agents":[]}}"#
        )
      case "/pull":
        let subtask = state.tasks.isEmpty ? "null" : state.tasks.removeFirst()
        return (200, #"{"subtask":\#(subtask)}"#)
      default: return (200, #"{"ok":true}"#)
      }
    }
  }

  private func register(_ agent: String, _ object: [String: Any]) -> (Int, String) {
    let pem = object["publicKeyPem"] as? String
    let key = pem.flatMap(Self.key)
    state.withLock { state in
      if pem != nil, key == nil { state.faults.append("/register: publicKeyPem is no key") }
      state.keys[agent] = .some(key)
    }
    let token = meshToken.map { #","meshToken":"\#($0)""# } ?? ""
    return (200, #"{"accepted":true,"policy":{},"mode":"swarm-only"\#(token)}"#)
  }

  /// The key of a SubjectPublicKeyInfo: its last 32 bytes.
  private static func key(_ pem: String) -> Curve25519.Signing.PublicKey? {
    let lines = pem.split(separator: "\n")
    guard lines.first == "-----BEGIN PUBLIC KEY-----", lines.last == "-----END PUBLIC KEY-----",
      let der = Data(base64Encoded: lines.dropFirst().dropLast().joined()), der.count == 44,
      der.prefix(12) == Data([0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00])
    else { return nil }
    return try? Curve25519.Signing.PublicKey(rawRepresentation: der.suffix(32))
  }

  private static func signatureFault(
    _ path: String, _ headers: [String: String], _ body: Data, _ agent: String, _ state: inout State
  ) -> String? {
    guard let id = headers["x-agent-id"], let time = headers["x-timestamp-ms"], let nonce = headers["x-nonce"],
      let hash = headers["x-body-sha256"], let signature = headers["x-signature"]
    else { return nil }
    guard id == agent else { return "agent_id_mismatch" }
    let age = abs(Date().timeIntervalSince1970 * 1000 - (Double(time) ?? 0))
    let actual = SHA256.hash(data: body).map { String(format: "%02x", $0) }.joined()
    guard let key = state.keys[agent] ?? nil, age <= 120_000, hash == actual, state.nonces.insert(nonce).inserted,
      let bytes = Data(base64Encoded: signature),
      key.isValidSignature(bytes, for: Data("\(time)\n\(nonce)\nPOST\n\(path)\n\(hash)".utf8))
    else { return "signature_invalid" }
    return nil
  }
}
