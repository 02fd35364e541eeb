import AsyncHTTPClient
import Foundation
import NIOCore
import NetworkPath
import OutgoingHTTP

/// A reachability probe that requests a known page. Over plain HTTP it also detects captive portals, which answer instead.
struct HTTPProbe: ReachabilityProbe {
  private let url: String

  /// - Returns: `nil` unless the text is an http or https URL.
  init?(_ url: String) {
    guard let parts = URLComponents(string: url), ["http", "https"].contains(parts.scheme),
      parts.host?.isEmpty == false, parts.hasPossiblePort
    else { return nil }
    self.url = url
  }

  func probe() async throws -> Reachability {
    var connections = OutgoingHTTPClient.Connections()
    // The path itself is examined, and not one through a proxy.
    connections.proxies = .none
    // A redirect is a result, and a reused connection would prove nothing about the current path.
    let outgoing = OutgoingHTTPClient(connectTimeout: .seconds(10), connections: connections)
    var request = HTTPClientRequest(url: url)
    request.method = .HEAD
    // The caller has a shorter timeout; this one bounds a request that ignores cancellation.
    let response = try await outgoing.execute(request, timeout: .seconds(30))
    return (200..<300).contains(response.status.code) ? .reachable : .portal
  }
}
