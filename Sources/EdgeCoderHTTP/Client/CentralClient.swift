internal import AsyncHTTPClient
public import EdgeCoder
internal import FoundationEssentials
internal import JSONValues
internal import NIOCore
internal import NIOHTTP1
internal import OutgoingHTTP
internal import Timing

/// A client of a central in another process, over its ``HTTPAPI``.
///
/// ```swift
/// let client = CentralClient()
/// if try await client.isReachable() {
///   print(try await client.generate(prompt: "Why is the sky blue?", maxTokens: 64).answer)
/// }
/// ```
public final class CentralClient: InferenceService {
  /// The default address of a central.
  public static let defaultURL = "http://127.0.0.1:11435"

  private let url: String
  private let statusTimeout: Duration
  private let replyTimeout: Duration
  private let outgoing: OutgoingHTTPClient

  /// Creates a client; it connects with the first request.
  /// - Parameters:
  ///   - url: The address of the central, without a path.
  ///   - statusTimeout: The timeout of the status. Default: 2 s.
  ///   - replyTimeout: The timeout of a reply, or of each piece of a streamed one. Default: 100 s, a little more than the
  ///     timeout of the central.
  public init(
    url: String = defaultURL, statusTimeout: Duration = .seconds(2), replyTimeout: Duration = .seconds(100)
  ) {
    var url = url
    while url.hasSuffix("/") { url.removeLast() }
    self.url = url
    self.statusTimeout = statusTimeout
    self.replyTimeout = replyTimeout
    var connections = OutgoingHTTPClient.Connections()
    connections.idleTimeout = .seconds(60)
    outgoing = OutgoingHTTPClient(connectTimeout: .seconds(2), connections: connections)
  }

  /// Returns `true` if a central answers at the address.
  /// - Throws: ``CentralClientError`` if another server answers there.
  public func isReachable() async throws -> Bool {
    do {
      _ = try await fetchStatus()
      return true
    } catch let error as CentralClientError where error.code == .unreachable {
      return false
    }
  }

  /// Returns the status of the central.
  /// - Throws: ``CentralClientError`` if the central cannot be reached.
  public func fetchStatus() async throws -> CentralStatus {
    let body = try await TimeSource.continuous.withLimit(statusTimeout, orThrow: self.late(self.statusTimeout)) {
      do {
        let response = try await self.outgoing.execute(
          self.request(.GET, "/status"), timeout: TimeAmount(self.statusTimeout))
        guard response.status == .ok else { throw self.notACentral }
        return Data(try await response.body.collect(upTo: 1 << 20).readableBytesView)
      } catch {
        throw try self.naming(error)
      }
    }
    do {
      return try JSONDecoder().decode(CentralStatus.self, from: body)
    } catch {
      throw notACentral
    }
  }

  /// Returns the status of the central; an unreachable central has no phones.
  public func status() async -> CentralStatus {
    do {
      return try await fetchStatus()
    } catch {
      return CentralStatus(connected: false, scanning: false)
    }
  }

  /// Sends one prompt through the central; see `InferenceService.generate(_:onPart:)`.
  ///
  /// A request with details travels as a central sends it to a phone.
  /// - Throws: `InferenceError`, ``CentralClientError``, or `CancellationError`.
  public func generate(
    _ request: InferenceRequest, onPart: @Sendable @escaping (ReplyPart) async -> Void
  ) async throws -> InferenceReply {
    let request = self.request(.POST, "/api/generate", Self.body(of: request))
    // No central allows a reply to take an hour.
    let limits = ProgressLimits(first: replyTimeout, pause: replyTimeout, total: .seconds(3600))
    return try await TimeSource.continuous.withLimits(limits, orThrow: { self.late(self.replyTimeout) }) { step in
      var reader = CentralReplyReader(url: self.url)
      do {
        let response = try await self.outgoing.execute(request, timeout: TimeAmount(self.replyTimeout))
        for try await chunk in response.body {
          for event in try reader.append(chunk.readableBytesView) {
            step()
            switch event {
            case .part(let part): await onPart(part)
            case .end(let reply): return reply
            }
            step()
          }
        }
      } catch {
        throw try self.naming(error, hasStarted: reader.hasStarted)
      }
      return try reader.end()
    }
  }

  private static func body(of request: InferenceRequest) -> Data {
    var members: [JSONValue.Member] = [.init("stream", .bool(true)), .init("progress", .bool(true))]
    if let limit = request.maxTokens { members.append(.init("maxTokens", .number(limit))) }
    if request.details.fields.isEmpty {
      members.append(.init("prompt", .string(request.prompt)))
    } else {
      members.append(.init("form", RequestForm.value(of: request)))
    }
    return Data(JSONValue.object(members).encoded)
  }

  private var notACentral: CentralClientError { .notACentral(at: url) }

  private func late(_ limit: Duration) -> CentralClientError {
    CentralClientError(.timedOut, "the central at \(url) did not answer within \(Int(limit.inSeconds.rounded())) s")
  }

  private func request(_ method: HTTPMethod, _ path: String, _ body: Data? = nil) -> HTTPClientRequest {
    var request = HTTPClientRequest(url: url + path)
    request.method = method
    if let body {
      request.headers.add(name: "Content-Type", value: "application/json")
      request.body = .bytes(ByteBuffer(bytes: body))
    }
    return request
  }

  /// Returns the error for a failure of the connection; other errors are returned unchanged.
  /// - Throws: `CancellationError`.
  private func naming(_ error: any Error, hasStarted: Bool = false) throws -> any Error {
    try Task.checkCancellation()
    if error is CentralClientError || error is InferenceError || error is CancellationError { return error }
    guard !hasStarted else { return CentralClientError.interrupted(at: url) }
    return switch ConnectionFailure(error) {
    case .noProxy(let reason): CentralClientError(.unreachable, "\(url) cannot be reached: \(reason)")
    case .untrusted(let reason): CentralClientError(.unreachable, "\(url) cannot be trusted: \(reason.words)")
    default:
      CentralClientError(.unreachable, "no central answers at \(url)", hint: "start a central on this host")
    }
  }
}
