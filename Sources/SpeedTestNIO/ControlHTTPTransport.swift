internal import AsyncHTTPClient
public import FoundationEssentials
public import JSONValues
internal import NIOCore
internal import NIOFoundationCompat
internal import NIOHTTP1
internal import OutgoingHTTP
public import SpeedTest
internal import Timing

/// A transport to control servers over HTTP/1.1 or HTTPS. It logs nothing, so that no token reaches a log.
///
/// No proxy is used: a control server binds tokens to the address that the request comes from.
///
/// ```swift
/// import SpeedTest
///
/// let device = ControlDevice(
///   osVersion: "Linux", model: "board", language: "en", timezone: "UTC", softwareVersion: "1.0")
/// let control = try ControlClient(
///   address: "https://control.example", transport: try ControlHTTPTransport(), device: device, folder: "/tmp")
/// let settings = try await control.settings()
/// print(settings.serverVersion ?? "unknown version")
/// ```
public final class ControlHTTPTransport: ControlTransport {
  private let outgoing: OutgoingHTTPClient
  private let language: String
  private let limit: Duration

  /// The timeout of a request and its reply, as the clients of control servers have it.
  public static let defaultLimit = Duration.seconds(30)

  /// Creates a transport without connecting.
  /// - Parameters:
  ///   - certificates: The path of a PEM file with certificates to trust besides the system's; `nil` for none.
  ///   - language: The language of the server's texts, in two letters.
  ///   - limit: The timeout of a request and its reply.
  /// - Throws: `SpeedTestError` with code `.invalidArgument` if the file contains no certificates.
  public init(
    certificates: String? = nil, language: String = "en", limit: Duration = ControlHTTPTransport.defaultLimit
  ) throws(SpeedTestError) {
    self.language = language
    self.limit = limit
    outgoing = try .direct(certificates: certificates)
  }

  /// Posts a JSON document; see `ControlTransport`.
  public func post(_ url: String, body: Data) async throws -> ControlReply {
    var request = HTTPClientRequest(url: url)
    request.method = .POST
    request.headers = [
      "Content-Type": "application/json", "Accept": "application/json", "Accept-Language": language,
    ]
    request.body = .bytes(ByteBuffer(data: body))
    let place = Self.place(url)
    let late = SpeedTestError(.timedOut, "\(place) did not answer within \(limit)")
    do {
      return try await TimeSource.continuous.withLimit(
        limit, orThrow: late
      ) { [request, outgoing, limit] in
        // The outer limit is the effective one; this one only has to be longer.
        let response = try await outgoing.execute(request, timeout: TimeAmount(limit * 2))
        let bytes = try await response.body.collect(upTo: Self.bodyLimit)
        return ControlReply(status: Int(response.status.code), body: Data(buffer: bytes))
      }
    } catch let error as SpeedTestError {
      throw error
    } catch let error as CancellationError {
      throw error
    } catch {
      try Task.checkCancellation()
      throw Self.failure(error, place)
    }
  }

  /// The address up to its path, for display.
  private static func place(_ url: String) -> String {
    url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: true).prefix(2).joined(separator: "//")
  }

  private static func failure(_ error: any Error, _ place: String) -> SpeedTestError {
    switch ConnectionFailure(error) {
    case .unknownHost: SpeedTestError(.unreachable, "connect to \(place): unknown host name")
    case .noServer(let errno):
      SpeedTestError(.unreachable, "connect to \(place): no server responds", errno: errno)
    case .untrusted(.notTrusted):
      SpeedTestError(.unreachable, "TLS with \(place): the certificate is not trusted")
    case .untrusted(let reason): SpeedTestError(.unreachable, "TLS with \(place): \(reason.words)")
    case .timedOut: SpeedTestError(.unreachable, "connect to \(place): timed out")
    case .noProxy(let reason): SpeedTestError(.unreachable, "connect to \(place): \(reason)")
    case .tooLong: SpeedTestError(.invalidReply, "\(place) answers with more than \(bodyLimit) bytes")
    case .notHTTP: SpeedTestError(.invalidReply, "\(place) does not speak HTTP")
    case .interrupted(let reason):
      SpeedTestError(.connectionClosed, "the connection to \(place) was interrupted: \(reason)")
    }
  }
}
