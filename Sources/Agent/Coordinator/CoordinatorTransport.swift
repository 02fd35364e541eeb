public import FoundationEssentials

/// Carries requests to one coordinator. Whoever composes a program brings one; the agent itself speaks no HTTP.
public protocol CoordinatorTransport: Sendable {
  /// Where the coordinator is, without a path.
  var address: String { get }

  /// Posts a JSON document and waits for the whole answer, at most ``CoordinatorRunner/answerLimit``.
  /// - Parameters:
  ///   - path: from the root, such as `/heartbeat`.
  ///   - headers: besides those every such request has.
  ///   - body: a JSON object.
  /// - Throws: ``CoordinatorTransportError``, or `CancellationError`.
  func post(_ path: String, headers: [(name: String, value: String)], body: Data) async throws -> CoordinatorAnswer
}

/// What a coordinator answered, whatever it means.
public struct CoordinatorAnswer: Sendable, Hashable {
  /// HTTP's status code.
  public var status: Int
  /// The body, as it came.
  public var body: Data

  /// Makes an answer.
  public init(status: Int, body: Data) {
    self.status = status
    self.body = body
  }
}

/// Why there is no answer.
public struct CoordinatorTransportError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Whether the coordinator may have got the request; `false` only when it certainly has not.
  public var mayHaveArrived: Bool
  /// What happened, for a person.
  public var description: String

  /// Makes an error.
  public init(_ description: String, mayHaveArrived: Bool) {
    self.description = description
    self.mayHaveArrived = mayHaveArrived
  }
}

/// Signs requests with the machine's own key. Whoever composes a program brings one; the agent itself has no
/// cryptography.
public protocol RequestSigner: Sendable {
  /// The key others verify with, as PEM (SubjectPublicKeyInfo).
  var publicKeyPEM: String { get }

  /// The headers that sign a POST.
  /// - Parameters:
  ///   - path: from the root.
  ///   - body: exactly the bytes that are sent.
  ///   - agentID: who signs.
  ///   - timestampMs: milliseconds since 1970. The coordinator allows for two minutes of difference.
  ///   - nonce: never used before.
  /// - Throws: when the key cannot sign.
  func headers(
    path: String, body: Data, agentID: String, timestampMs: Int64, nonce: String
  ) throws -> [(name: String, value: String)]
}
