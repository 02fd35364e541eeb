import AsyncHTTPClient
import Foundation
import NIOCore
import NetworkPath

/// A reachability probe that requests a known page. Over plain HTTP it also detects captive portals, which answer instead.
struct HTTPProbe: ReachabilityProbe {
  private let url: String

  /// - Returns: `nil` unless the text is an http or https URL.
  init?(_ url: String) {
    guard let parts = URLComponents(string: url), ["http", "https"].contains(parts.scheme), parts.host?.isEmpty == false
    else { return nil }
    self.url = url
  }

  func probe() async throws -> Reachability {
    // A redirect is a result, and a reused connection would prove nothing about the current path.
    let client = HTTPClient(
      eventLoopGroupProvider: .singleton, configuration: .init(redirectConfiguration: .disallow))
    let found: Result<Reachability, any Error>
    do {
      var request = HTTPClientRequest(url: url)
      request.method = .HEAD
      // The caller has a shorter timeout; this one bounds a request that ignores cancellation.
      let response = try await client.execute(request, timeout: .seconds(30))
      found = .success((200..<300).contains(response.status.code) ? .reachable : .portal)
    } catch {
      found = .failure(error)
    }
    try await client.shutdown()
    return try found.get()
  }
}
