internal import AsyncHTTPClient
public import EdgeCoder
internal import NIOCore
internal import NIOHTTP1

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A central in another process, asked over its ``HTTPAPI``.
public final class CentralClient: InferenceService {
  /// Where a central listens unless told otherwise.
  public static let defaultURL = "http://127.0.0.1:11435"

  private let url: String
  private let statusTime: Duration
  private let replyTime: Duration
  private let client: HTTPClient

  /// Makes a client; connects to nothing yet.
  /// - Parameters:
  ///   - url: the central's address, without a path.
  ///   - statusTime: the longest wait for the status; default 2 s, as a central here answers in milliseconds.
  ///   - replyTime: the longest wait for a reply; default 100 s, a little more than the central's own limit.
  public init(
    url: String = defaultURL, statusTime: Duration = .seconds(2), replyTime: Duration = .seconds(100)
  ) {
    var url = url
    while url.hasSuffix("/") { url.removeLast() }
    self.url = url
    self.statusTime = statusTime
    self.replyTime = replyTime
    var configuration = HTTPClient.Configuration()
    configuration.timeout = .init(connect: .seconds(2))
    configuration.redirectConfiguration = .disallow
    configuration.httpVersion = .http1Only
    configuration.connectionPool.retryConnectionEstablishment = false
    client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }

  deinit {
    // The client outlives this object until its connections are closed; there is nobody left to tell of an error.
    client.shutdown { _ in }
  }

  /// Whether a central answers at the address in time.
  /// - Throws: ``CentralClientError`` when something else answers there.
  public func isReachable() async throws -> Bool {
    do {
      _ = try await fetchStatus()
      return true
    } catch let error as CentralClientError where error.code == .unreachable {
      return false
    }
  }

  /// The central's status.
  /// - Throws: ``CentralClientError``.
  public func fetchStatus() async throws -> CentralStatus {
    let (status, body) = try await send(.GET, "/status", nil, within: statusTime)
    guard status == 200 else { throw notACentral }
    do {
      return try JSONDecoder().decode(CentralStatus.self, from: body)
    } catch {
      throw notACentral
    }
  }

  /// The central's status; one that cannot be reached has no phones.
  public func status() async -> CentralStatus {
    do {
      return try await fetchStatus()
    } catch {
      return CentralStatus(connected: false, scanning: false)
    }
  }

  /// Sends one prompt through the central; see `InferenceService.generate(prompt:maxTokens:onText:)`. The central
  /// answers whole, so no text is handed on before.
  /// - Throws: `InferenceError`, ``CentralClientError``, or `CancellationError`.
  public func generate(
    prompt: String, maxTokens: Int?, onText: @Sendable @escaping (String) async -> Void
  ) async throws -> InferenceReply {
    let request = Request(prompt: prompt, maxTokens: maxTokens)
    let (status, body) = try await send(.POST, "/api/generate", JSONEncoder().encode(request), within: replyTime)
    do {
      let reply = try JSONDecoder().decode(Reply.self, from: body)
      if status == 200, let id = reply.id, let output = reply.output {
        return InferenceReply(
          id: id, output: output, ok: reply.ok, durationMs: reply.durationMs ?? 0, phone: reply.deviceName ?? "")
      }
      guard let message = reply.error else { throw notACentral }
      throw Self.error(status: status, code: reply.code, message: message)
    } catch is DecodingError {
      throw notACentral
    }
  }

  private struct Request: Encodable {
    let prompt: String
    let maxTokens: Int?
    let stream = false
  }

  private struct Reply: Decodable {
    let id: String?
    let output: String?
    let ok: Bool
    let durationMs: Int?
    let deviceName: String?
    let error: String?
    let code: String?
  }

  private var notACentral: CentralClientError {
    CentralClientError(.notACentral, "what answers at \(url) is no EdgeBlue central", hint: "is the port right?")
  }

  private static func error(status: Int, code: String?, message: String) -> any Error {
    switch code {
    case "no_phone_ready": InferenceError(.noPhoneReady, message)
    case "phone_disconnected": InferenceError(.disconnected, message)
    case "write_failed": InferenceError(.writeFailed, message)
    case "busy": InferenceError(.busy, message)
    case "timeout": InferenceError(.timedOut, message)
    case "prompt_too_large", "body_too_large": InferenceError(.requestTooLarge, message)
    default: CentralClientError(.refused, "the central refused the prompt: \(message)")
    }
  }

  private func send(
    _ method: HTTPMethod, _ path: String, _ body: Data?, within limit: Duration
  ) async throws -> (status: Int, body: Data) {
    let late = CentralClientError(.timedOut, "the central at \(url) did not answer within \(limit.seconds) s")
    return try await withLimit(limit, late: late) { [client, url] in
      var request = HTTPClientRequest(url: url + path)
      request.method = method
      if let body {
        request.headers.add(name: "Content-Type", value: "application/json")
        request.body = .bytes(ByteBuffer(bytes: body))
      }
      do {
        let response = try await client.execute(request, timeout: TimeAmount(limit))
        // A reply has at most 256 KiB on the air; escapes and the prompt's copy in errors make it a few times that.
        let bytes = try await response.body.collect(upTo: 4 << 20)
        return (Int(response.status.code), Data(bytes.readableBytesView))
      } catch is CancellationError {
        throw CancellationError()
      } catch {
        try Task.checkCancellation()
        throw CentralClientError(
          .unreachable, "no central answers at \(url)", hint: "start one with `edgeblue central`")
      }
    }
  }
}

/// Why a central in another process could not be asked.
public struct CentralClientError: Error, Sendable, CustomStringConvertible {
  /// What kind of failure it was; new codes may be added.
  public struct Code: Sendable, Hashable {
    let name: String
    /// Nothing answers at the address.
    public static let unreachable = Code(name: "unreachable")
    /// What answers there is not a central.
    public static let notACentral = Code(name: "not a central")
    /// The central did not answer in time.
    public static let timedOut = Code(name: "timed out")
    /// The central refused the request itself.
    public static let refused = Code(name: "refused")
  }

  /// The kind of failure.
  public var code: Code
  /// What happened, for a person.
  public var message: String
  /// What a person can do about it.
  public var hint: String?

  /// Makes an error.
  public init(_ code: Code, _ message: String, hint: String? = nil) {
    self.code = code
    self.message = message
    self.hint = hint
  }

  /// The code, the message and the hint in one line.
  public var description: String {
    "\(code.name): \(message)" + (hint.map { " (\($0))" } ?? "")
  }
}
