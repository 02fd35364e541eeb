import DurableFiles
import FoundationEssentials
import Glibc

/// A document with recipients' keys and a signature, as it is published and fetched; nothing of it is trusted yet.
///
/// The document is JSON with two members in base64: `payload` and `signature`, an Ed25519 signature over the bytes of
/// the payload. The payload is JSON again:
///
/// ```json
/// {"type": "edgeblue-message-keys", "version": 1, "issued": 1795000000, "expires": 1796209600,
///  "nodes": ["…", "…"], "recipients": [{"id": "desk", "key": "…"}]}
/// ```
///
/// Times are in Unix seconds, keys in base64.
public struct SignedKeys: Sendable, Hashable {
  /// The largest document that is read, 512 KiB.
  public static let largestByteCount = 512 << 10
  private static let type = "edgeblue-message-keys"

  private let payload: [UInt8]
  private let signature: [UInt8]

  /// Reads a document, for example the body of an HTTP response.
  /// - Throws: ``MessageSendingError`` with code `.untrustedKeys` for what is no such document.
  public init(_ document: [UInt8]) throws(MessageSendingError) {
    guard document.count <= Self.largestByteCount else {
      throw Self.refusal("the document has more than \(Self.largestByteCount) bytes")
    }
    let envelope: Envelope
    do {
      envelope = try JSONDecoder().decode(Envelope.self, from: Data(document))
    } catch { throw Self.refusal("the document is not JSON with a payload and a signature") }
    payload = [UInt8](envelope.payload)
    signature = [UInt8](envelope.signature)
  }

  /// Reads the document in a file.
  /// - Throws: ``MessageSendingError`` with code `.storage` when it cannot be read, or `.untrustedKeys`.
  public static func read(path: String) throws(MessageSendingError) -> SignedKeys {
    let bytes: [UInt8]?
    do {
      // Wherever it is, its signature proves it.
      bytes = try Disk().read(path, limit: largestByteCount, followsLinks: true)
    } catch { throw MessageSendingError(error) }
    guard let bytes else { throw MessageSendingError(FileError("opening \(path)", errno: ENOENT)) }
    return try SignedKeys(bytes)
  }

  /// Creates a document of keys with the signature of a root key.
  /// - Throws: ``MessageSendingError`` with code `.invalidArgument` if the document would be too large.
  public init(_ keys: RecipientKeys, signedBy root: RootSecretKey) throws(MessageSendingError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      payload = [UInt8](try encoder.encode(Payload(keys)))
    } catch { throw MessageSendingError(.invalidArgument, "the keys cannot be written as JSON: \(error)") }
    signature = root.signature(of: payload)
    guard try document().count <= Self.largestByteCount else {
      throw MessageSendingError(.invalidArgument, "the document would have more than \(Self.largestByteCount) bytes")
    }
  }

  /// Returns the document to publish.
  /// - Throws: ``MessageSendingError`` with code `.invalidArgument`.
  public func document() throws(MessageSendingError) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      return [UInt8](try encoder.encode(Envelope(payload: Data(payload), signature: Data(signature))))
    } catch { throw MessageSendingError(.invalidArgument, "the keys cannot be written as JSON: \(error)") }
  }

  /// Returns the keys, if the pinned root key has signed them and they are valid now.
  /// - Parameters:
  ///   - root: The root key that the user has pinned.
  ///   - now: The wall-clock time, in Unix milliseconds.
  /// - Throws: ``MessageSendingError`` with code `.untrustedKeys` or `.expiredKeys`: then nothing at all is to be sent.
  public func verified(by root: RootKey, atMs now: Int64) throws(MessageSendingError) -> RecipientKeys {
    let keys = try keys(signedBy: root)
    try keys.check(atMs: now)
    return keys
  }

  /// Returns the keys, if the root key has signed them, whether they are still valid or not.
  func keys(signedBy root: RootKey) throws(MessageSendingError) -> RecipientKeys {
    guard try root.isSignature(signature, of: payload) else {
      throw Self.refusal("the signature is not the pinned root key's")
    }
    return try Self.keys(payload: payload)
  }

  /// Reads the keys in the bytes of a payload, whose signature and dates are still to be checked.
  static func keys(payload bytes: [UInt8]) throws(MessageSendingError) -> RecipientKeys {
    let payload: Payload
    do {
      payload = try JSONDecoder().decode(Payload.self, from: Data(bytes))
    } catch { throw refusal("the signed payload is not JSON with keys") }
    guard payload.type == type, payload.version == 1 else {
      throw refusal(
        "the payload is of type \(payload.type.prefix(40)), version \(payload.version); required: \(type), 1")
    }
    return try payload.keys()
  }

  private static func refusal(_ reason: String) -> MessageSendingError {
    MessageSendingError(.untrustedKeys, reason, hint: "nothing is sent without signed keys")
  }

  private struct Envelope: Codable {
    var payload: Data
    var signature: Data
  }

  private struct Payload: Codable {
    struct Recipient: Codable {
      var id: String
      var key: Data
    }

    var type = SignedKeys.type
    var version = 1
    var issued: Int64
    var expires: Int64
    var nodes: [Data]
    var recipients: [Recipient]

    init(_ keys: RecipientKeys) {
      issued = keys.issuedMs / 1000
      expires = keys.expiresMs / 1000
      nodes = keys.nodes.map { Data($0.bytes) }
      recipients = keys.recipients.map { Recipient(id: $0.id, key: Data($0.key.bytes)) }
    }

    func keys() throws(MessageSendingError) -> RecipientKeys {
      let (issuedMs, overflow) = issued.multipliedReportingOverflow(by: 1000)
      let (expiresMs, otherOverflow) = expires.multipliedReportingOverflow(by: 1000)
      guard !overflow, !otherOverflow else { throw SignedKeys.refusal("the times of the keys are out of range") }
      do throws(MessageSendingError) {
        var nodes: [BoxPublicKey] = []
        for node in self.nodes { nodes.append(try BoxPublicKey(bytes: [UInt8](node))) }
        var recipients: [RecipientKeys.Recipient] = []
        for recipient in self.recipients {
          recipients.append(.init(id: recipient.id, key: try BoxPublicKey(bytes: [UInt8](recipient.key))))
        }
        return try RecipientKeys(
          nodes: nodes, recipients: recipients, issuedMs: issuedMs, expiresMs: expiresMs)
      } catch { throw SignedKeys.refusal(error.message) }
    }
  }
}
