import AsyncHTTPClient
import Foundation
import NIOCore
import NetworkPath
import OutgoingHTTP

/// A reachability probe that requests a known page. Over plain HTTP it also detects captive portals, which answer instead.
struct HTTPProbe: ReachabilityProbe {
  private let url: String
  /// The text that the page contains; `nil` for any.
  private let text: String?

  /// The largest part of a page that is read: 64 KiB.
  private static let limit = 64 << 10

  /// - Parameter text: The text that the page contains: a portal's page has status 200, too. `nil` for any.
  /// - Returns: `nil` unless `url` is an http or https URL.
  init?(_ url: String, text: String? = nil) {
    guard let parts = URLComponents(string: url), ["http", "https"].contains(parts.scheme),
      parts.host?.isEmpty == false, parts.hasPossiblePort
    else { return nil }
    self.url = url
    self.text = text
  }

  func probe() async throws -> Reachability {
    var connections = OutgoingHTTPClient.Connections()
    // The path itself is examined, and not one through a proxy.
    connections.proxies = .none
    // A redirect is a result, and a reused connection would prove nothing about the current path.
    let outgoing = OutgoingHTTPClient(connectTimeout: .seconds(10), connections: connections)
    var request = HTTPClientRequest(url: url)
    request.method = text == nil ? .HEAD : .GET
    // The caller has a shorter timeout; this one bounds a request that ignores cancellation.
    let response = try await outgoing.execute(request, timeout: .seconds(30))
    guard (200..<300).contains(response.status.code) else { return .portal }
    guard let text else { return .reachable }
    var page = ByteBuffer()
    for try await part in response.body where page.readableBytes < Self.limit {
      page.writeImmutableBuffer(part)
      if String(buffer: page).contains(text) { return .reachable }
    }
    return .portal
  }
}
