import AsyncHTTPClient
import Foundation
import NIOCore
import NetworkPath

/// Asks for a page that is known to be there. Over plain HTTP it also finds portals: they answer in its place.
struct HTTPProbe: ReachabilityProbe {
  private let url: String

  /// - Returns: `nil` unless it is a URL of http or https.
  init?(_ url: String) {
    guard let parts = URLComponents(string: url), ["http", "https"].contains(parts.scheme), parts.host?.isEmpty == false
    else { return nil }
    self.url = url
  }

  func probe() async throws -> Reachability {
    // A redirection is an answer, and a connection of another time would say nothing of this one.
    let client = HTTPClient(
      eventLoopGroupProvider: .singleton, configuration: .init(redirectConfiguration: .disallow))
    let found: Result<Reachability, any Error>
    do {
      var request = HTTPClientRequest(url: url)
      request.method = .HEAD
      // The caller's limit comes first; this one is for what does not end when it is cancelled.
      let response = try await client.execute(request, timeout: .seconds(30))
      found = .success((200..<300).contains(response.status.code) ? .reachable : .portal)
    } catch {
      found = .failure(error)
    }
    try await client.shutdown()
    return try found.get()
  }
}
