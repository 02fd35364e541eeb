public import Agent
internal import Crypto
public import Foundation

/// Signs requests with an Ed25519 key, as EdgeCoder's coordinator verifies them.
public struct Ed25519Signer: RequestSigner {
  private let key: Curve25519.Signing.PrivateKey

  /// Makes a signer from a machine's own key.
  /// - Throws: `AgentError` with code `.damagedFile`, when the seed is no key.
  public init(_ identity: MachineIdentity) throws(AgentError) {
    do {
      key = try Curve25519.Signing.PrivateKey(rawRepresentation: identity.signingSeed)
    } catch {
      throw AgentError(.damagedFile, "what this machine is to sign with is no key")
    }
  }

  /// The key others verify with, as PEM.
  public var publicKeyPEM: String {
    // SubjectPublicKeyInfo of Ed25519 (RFC 8410): 12 bytes that are always the same, then the key.
    let prefix: [UInt8] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00]
    let text = (Data(prefix) + key.publicKey.rawRepresentation).base64EncodedString()
    return "-----BEGIN PUBLIC KEY-----\n\(text)\n-----END PUBLIC KEY-----\n"
  }

  /// The five headers of a signed POST.
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
