public import Agent
internal import AsyncHTTPClient
public import Foundation
internal import Glibc
internal import NIOCore
internal import NIOFoundationCompat
internal import NIOHTTP1
internal import OutgoingHTTP

/// A transport to a coordinator over HTTP or HTTPS, with limits on time and size. It logs nothing, so that no token
/// reaches a log.
///
/// ```swift
/// let transport = try HTTPTransport(url: "https://coordinator.example")
/// let answer = try await transport.post("/heartbeat", headers: [], body: Data("{}".utf8))
/// print(answer.status)
/// ```
public final class HTTPTransport: CoordinatorTransport {
  /// The scheme, host and port, and the path that precedes every other, if there is one.
  public let address: String
  /// An executor on the thread of the connections, which all transports share and nothing else does: a slow disk under a
  /// task there delays no other connection of the program.
  public var taskExecutor: (any TaskExecutor)? { Self.thread }
  private let outgoing: OutgoingHTTPClient

  /// The largest response: 4 MiB.
  static let answerLimit = 4 << 20
  private static let thread = EventLoopThread()

  /// Creates a transport without connecting.
  /// - Parameters:
  ///   - url: The address of the coordinator, such as `https://coordinator.example`.
  ///   - certificates: A PEM file with certificates to trust in addition to the system's; `nil` for none.
  ///   - userAgent: The value of the header `User-Agent`, by which a coordinator's logs tell programs apart.
  /// - Throws: `AgentError` with code `.invalidArgument`.
  public init(url: String, certificates: String? = nil, userAgent: String = "EdgeBlue") throws(AgentError) {
    address = try Self.address(url)
    var connections = OutgoingHTTPClient.Connections()
    connections.userAgent = userAgent
    do throws(OutgoingHTTPClient.UnreadableCertificates) {
      outgoing = try OutgoingHTTPClient(
        connectTimeout: .seconds(5), certificates: certificates, connections: connections, loop: Self.thread.loop)
    } catch {
      throw AgentError(.invalidArgument, "\(error.path) does not contain readable certificates: \(error)")
    }
  }

  /// Posts a JSON document; see `CoordinatorTransport`.
  public func post(
    _ path: String, headers: [(name: String, value: String)], body: Data
  ) async throws -> CoordinatorAnswer {
    var fields = HTTPHeaders([("Content-Type", "application/json"), ("Accept", "application/json")])
    for header in headers { fields.add(name: header.name, value: header.value) }
    do {
      let request = try HTTPClient.Request(
        url: address + path, method: .POST, headers: fields, body: .byteBuffer(ByteBuffer(data: body)))
      // The caller's limit is the effective one; this one only has to be longer.
      let response = try await outgoing.response(to: request, upTo: Self.answerLimit, timeout: .seconds(20))
      return CoordinatorAnswer(
        status: Int(response.status.code), body: response.body.map { Data(buffer: $0) } ?? Data(),
        retryAfter: response.headers.first(name: "Retry-After").flatMap { RetryAfter.delay($0, at: time(nil)) })
    } catch let error as CancellationError {
      throw error
    } catch {
      try Task.checkCancellation()
      throw Self.failure(error, address)
    }
  }

  private static func address(_ url: String) throws(AgentError) -> String {
    do throws(HTTPAddress.Fault) {
      return try HTTPAddress(url).text
    } catch {
      throw switch error {
      case .notHTTP:
        AgentError(
          .invalidArgument, "the coordinator's address is not a URL",
          hint: "an address is like https://coordinator.example")
      case .credentials:
        AgentError(
          .invalidArgument, "the coordinator's address contains a user name or password",
          hint: "pass a token separately")
      case .port:
        AgentError(
          .invalidArgument, "the port of the coordinator's address is out of range", hint: "allowed are 1 to 65535")
      }
    }
  }

  private static func failure(_ error: any Error, _ address: String) -> CoordinatorTransportError {
    switch ConnectionFailure(error) {
    case .unknownHost: CoordinatorTransportError("the name is not known at \(address)", mayHaveArrived: false)
    case .noServer: CoordinatorTransportError("nothing answers at \(address)", mayHaveArrived: false)
    case .untrusted(let reason):
      CoordinatorTransportError(
        "\(address) cannot be trusted: \(reason.words)", mayHaveArrived: false, isUntrusted: true)
    case .timedOut: CoordinatorTransportError("nothing answers at \(address) in time", mayHaveArrived: false)
    case .noProxy(let reason):
      CoordinatorTransportError("\(address) cannot be reached: \(reason)", mayHaveArrived: false)
    case .tooLong:
      CoordinatorTransportError("\(address) answers with more than \(answerLimit) bytes", mayHaveArrived: true)
    case .notHTTP: CoordinatorTransportError("\(address) does not speak HTTP", mayHaveArrived: true)
    case .interrupted(let reason):
      CoordinatorTransportError("\(address) has broken off: \(reason)", mayHaveArrived: true)
    }
  }
}
