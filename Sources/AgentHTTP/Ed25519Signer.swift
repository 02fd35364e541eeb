public import Agent
internal import Crypto
public import Foundation

/// A signer with an Ed25519 key, as EdgeCoder's coordinator verifies it.
///
/// ```swift
/// let identity = try MachineIdentity.load(path: "identity.json", hostName: "board")
/// print(try Ed25519Signer(identity).publicKeyPEM)
/// ```
public struct Ed25519Signer: RequestSigner {
  private let key: Curve25519.Signing.PrivateKey

  /// Creates a signer with the key of an identity.
  /// - Throws: `AgentError` with code `.damagedFile` when the seed is not a key.
  public init(_ identity: MachineIdentity) throws(AgentError) {
    do {
      key = try Curve25519.Signing.PrivateKey(rawRepresentation: identity.signingSeed)
    } catch {
      throw AgentError(.damagedFile, "the signing seed has \(identity.signingSeed.count) bytes; allowed: 32 bytes")
    }
  }

  /// The public key in PEM format (SubjectPublicKeyInfo).
  public var publicKeyPEM: String {
    // SubjectPublicKeyInfo of Ed25519 (RFC 8410): 12 bytes that are always the same, then the key.
    let prefix: [UInt8] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00]
    let text = (Data(prefix) + key.publicKey.rawRepresentation).base64EncodedString()
    return "-----BEGIN PUBLIC KEY-----\n\(text)\n-----END PUBLIC KEY-----\n"
  }

  /// Returns the five headers of a signed POST request.
  public func headers(
    path: String, body: Data, agentID: String, timestampMs: Int64, nonce: String
  ) throws -> [(name: String, value: String)] {
    let hash = SHA256.hash(data: body).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let text = "\(timestampMs)\n\(nonce)\nPOST\n\(path)\n\(hash)"
    return [
      ("x-agent-id", agentID), ("x-timestamp-ms", "\(timestampMs)"), ("x-nonce", nonce), ("x-body-sha256", hash),
      ("x-signature", try key.signature(for: Data(text.utf8)).base64EncodedString()),
    ]
  }
}
