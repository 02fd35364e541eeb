public import FoundationEssentials

/// A transport for requests to one coordinator. The program that uses the agent provides it; the agent itself knows no
/// HTTP.
public protocol CoordinatorTransport: Sendable {
  /// The address of the coordinator, such as `https://coordinator.example`.
  var address: String { get }
  /// An executor whose tasks send and receive without a switch between threads; `nil`, the default, if there is none.
  ///
  /// ``CoordinatorRunner`` runs its tasks there. They also write small files, which blocks it for as long as a disk takes.
  var taskExecutor: (any TaskExecutor)? { get }

  /// Posts a JSON document, and waits for the whole response, ``CoordinatorRunner/answerLimit`` at most.
  /// - Parameters:
  ///   - path: The path from the root, such as `/heartbeat`.
  ///   - headers: The headers in addition to those of every request.
  ///   - body: The JSON object to send.
  /// - Throws: ``CoordinatorTransportError``, or `CancellationError`.
  func post(_ path: String, headers: [(name: String, value: String)], body: Data) async throws -> CoordinatorAnswer
}

extension CoordinatorTransport {
  /// No executor: the tasks run where those of the caller run.
  public var taskExecutor: (any TaskExecutor)? { nil }
}

/// A response of the coordinator, whatever its status.
public struct CoordinatorAnswer: Sendable, Hashable {
  /// The HTTP status code, 100 to 599.
  public var status: Int
  /// The body of the response.
  public var body: Data
  /// The delay that the header `Retry-After` demands before the next request; `nil` if there is none.
  public var retryAfter: Duration?

  /// Creates a response from its parts.
  public init(status: Int, body: Data, retryAfter: Duration? = nil) {
    self.status = status
    self.body = body
    self.retryAfter = retryAfter
  }
}

/// An error of a request to a coordinator that got no response.
public struct CoordinatorTransportError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A Boolean value that indicates whether the coordinator may have received the request; `false` only when it
  /// certainly has not.
  public var mayHaveArrived: Bool
  /// A Boolean value that indicates whether the coordinator's certificate is not trusted.
  public var isUntrusted: Bool
  /// The failure in words, for display.
  public var description: String

  /// Creates an error of a request.
  /// - Parameters:
  ///   - description: The failure in words, for display.
  ///   - mayHaveArrived: Whether the coordinator may have received the request.
  ///   - isUntrusted: Whether the coordinator's certificate is not trusted.
  public init(_ description: String, mayHaveArrived: Bool, isUntrusted: Bool = false) {
    self.description = description
    self.mayHaveArrived = mayHaveArrived
    self.isUntrusted = isUntrusted
  }
}

/// A signer of requests with this machine's key. The program that uses the agent provides it; the agent itself has no
/// cryptography.
public protocol RequestSigner: Sendable {
  /// The public key in PEM format (SubjectPublicKeyInfo).
  var publicKeyPEM: String { get }

  /// Returns the headers that sign a POST request.
  /// - Parameters:
  ///   - path: The path from the root.
  ///   - body: The exact bytes of the body.
  ///   - agentID: The identifier of this machine.
  ///   - timestampMs: The time in milliseconds since 1970; the coordinator allows a difference of 2 min.
  ///   - nonce: A text that was never used before.
  /// - Throws: An error when the key cannot sign.
  func headers(
    path: String, body: Data, agentID: String, timestampMs: Int64, nonce: String
  ) throws -> [(name: String, value: String)]
}
