internal import AsyncHTTPClient
public import EdgeCoder
internal import NIOCore
internal import NIOHTTP1
internal import Timing

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
  ///   - replyTime: the longest wait for a reply, or where it comes in pieces for the next one; default 100 s, a little
  ///     more than the central's own limit.
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
    let body = try await TimeSource.continuous.withLimit(statusTime, orThrow: self.late(self.statusTime)) {
      do {
        let response = try await self.client.execute(
          self.request(.GET, "/status"), timeout: TimeAmount(self.statusTime))
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

  /// The central's status; one that cannot be reached has no phones.
  public func status() async -> CentralStatus {
    do {
      return try await fetchStatus()
    } catch {
      return CentralStatus(connected: false, scanning: false)
    }
  }

  /// Sends one prompt through the central; see `InferenceService.generate(prompt:maxTokens:onText:)`.
  /// - Throws: `InferenceError`, ``CentralClientError``, or `CancellationError`.
  public func generate(
    prompt: String, maxTokens: Int?, onText: @Sendable @escaping (String) async -> Void
  ) async throws -> InferenceReply {
    let request = try self.request(
      .POST, "/api/generate", JSONEncoder().encode(Prompt(prompt: prompt, maxTokens: maxTokens)))
    // An hour is more than any central lets a reply take.
    let limits = ProgressLimits(first: replyTime, pause: replyTime, total: .seconds(3600))
    return try await TimeSource.continuous.withLimits(limits, orThrow: { self.late(self.replyTime) }) { step in
      var reader = CentralReplyReader(url: self.url)
      do {
        let response = try await self.client.execute(request, timeout: TimeAmount(self.replyTime))
        for try await chunk in response.body {
          for event in try reader.append(chunk.readableBytesView) {
            step()
            switch event {
            case .text(let piece): await onText(piece)
            case .end(let reply): return reply
            }
            step()
          }
        }
      } catch {
        throw try self.naming(error, hasBegun: reader.hasBegun)
      }
      return try reader.end()
    }
  }

  private struct Prompt: Encodable {
    let prompt: String
    let maxTokens: Int?
    let stream = true
  }

  private var notACentral: CentralClientError { .notACentral(at: url) }

  private func late(_ limit: Duration) -> CentralClientError {
    CentralClientError(.timedOut, "the central at \(url) did not answer within \(limit.seconds) s")
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

  /// What an error of the connection means; others say themselves what they mean.
  /// - Throws: `CancellationError`.
  private func naming(_ error: any Error, hasBegun: Bool = false) throws -> any Error {
    try Task.checkCancellation()
    if error is CentralClientError || error is InferenceError || error is CancellationError { return error }
    guard hasBegun else {
      return CentralClientError(
        .unreachable, "no central answers at \(url)", hint: "start one with `edgeblue central`")
    }
    return CentralClientError.interrupted(at: url)
  }
}
