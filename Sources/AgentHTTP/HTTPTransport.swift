public import Agent
internal import AsyncHTTPClient
public import Foundation
internal import NIOCore
internal import NIOFoundationCompat
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

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
  private let client: HTTPClient

  /// The largest response: 4 MiB.
  static let answerLimit = 4 << 20

  /// Creates a transport without connecting.
  /// - Parameters:
  ///   - url: The address of the coordinator, such as `https://coordinator.example`.
  ///   - certificates: A PEM file with certificates to trust in addition to the system's; `nil` for none.
  /// - Throws: `AgentError` with code `.invalidArgument`.
  public init(url: String, certificates: String? = nil) throws(AgentError) {
    address = try Self.address(url)
    var configuration = HTTPClient.Configuration()
    configuration.timeout = .init(connect: .seconds(5))
    // A token is sent to the coordinator that issued it, and nowhere else.
    configuration.redirectConfiguration = .disallow
    configuration.httpVersion = .http1Only
    // The caller decides when to try again.
    configuration.connectionPool.retryConnectionEstablishment = false
    // Shorter than the 5 s after which Node.js ends an idle connection: a request must not meet that end.
    configuration.connectionPool.idleTimeout = .seconds(4)
    if let certificates {
      do {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(certificates))]
        configuration.tlsConfiguration = tls
      } catch {
        throw AgentError(.invalidArgument, "\(certificates) does not contain readable certificates: \(error)")
      }
    }
    client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }

  deinit {
    // The client outlives this object until its connections are closed; no caller is left for an error.
    client.shutdown { _ in }
  }

  /// Posts a JSON document; see `CoordinatorTransport`.
  public func post(
    _ path: String, headers: [(name: String, value: String)], body: Data
  ) async throws -> CoordinatorAnswer {
    var request = HTTPClientRequest(url: address + path)
    request.method = .POST
    request.headers = HTTPHeaders([("Content-Type", "application/json"), ("Accept", "application/json")])
    for header in headers { request.headers.add(name: header.name, value: header.value) }
    request.body = .bytes(ByteBuffer(data: body))
    do {
      // The caller's limit is the effective one; this one only has to be longer.
      let response = try await client.execute(request, timeout: .seconds(20))
      let bytes = try await response.body.collect(upTo: Self.answerLimit)
      return CoordinatorAnswer(status: Int(response.status.code), body: Data(buffer: bytes))
    } catch let error as CancellationError {
      throw error
    } catch {
      try Task.checkCancellation()
      throw Self.failure(error, address)
    }
  }

  private static func address(_ url: String) throws(AgentError) -> String {
    guard let parsed = URL(string: url), let scheme = parsed.scheme?.lowercased(), ["http", "https"].contains(scheme),
      let host = parsed.host(), !host.isEmpty, parsed.query() == nil, parsed.fragment() == nil
    else {
      throw AgentError(
        .invalidArgument, "the coordinator's address is not a URL",
        hint: "an address is like https://coordinator.example")
    }
    guard parsed.user == nil, parsed.password == nil else {
      throw AgentError(
        .invalidArgument, "the coordinator's address contains a user name or password", hint: "pass a token separately")
    }
    let path = parsed.path()
    return "\(scheme)://\(host.contains(":") ? "[\(host)]" : host)" + (parsed.port.map { ":\($0)" } ?? "")
      + (path.hasSuffix("/") ? String(path.dropLast()) : path)
  }

  private static func failure(_ error: any Error, _ address: String) -> CoordinatorTransportError {
    switch error {
    case let error as NIOConnectionError:
      let reason = error.dnsAError == nil && error.dnsAAAAError == nil ? "nothing answers" : "the name is not known"
      return CoordinatorTransportError("\(reason) at \(address)", mayHaveArrived: false)
    case let error as IOError where [ECONNREFUSED, ENETUNREACH, EHOSTUNREACH].contains(error.errnoCode):
      return CoordinatorTransportError("nothing answers at \(address)", mayHaveArrived: false)
    case is NIOSSLError, is BoringSSLError:
      return CoordinatorTransportError(
        "\(address) cannot be trusted: \(error)", mayHaveArrived: false, isUntrusted: true)
    case let error as HTTPClientError where error == .connectTimeout || error == .tlsHandshakeTimeout:
      return CoordinatorTransportError("nothing answers at \(address) in time", mayHaveArrived: false)
    case is NIOTooManyBytesError:
      return CoordinatorTransportError("\(address) answers with more than \(answerLimit) bytes", mayHaveArrived: true)
    case let error as HTTPParserError where error != .invalidEOFState:
      return CoordinatorTransportError("\(address) does not speak HTTP", mayHaveArrived: true)
    default: return CoordinatorTransportError("\(address) has broken off: \(error)", mayHaveArrived: true)
    }
  }
}
