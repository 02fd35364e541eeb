internal import AsyncHTTPClient

/// The failure of a request at its proxy, so that the server behind it is not blamed.
struct UnusableProxy: Error, CustomStringConvertible {
  /// The proxy and the reason, for display.
  let description: String

  /// - Returns: `nil` if the proxy was reached and has connected.
  init?(_ proxy: ProxySettings.Proxy, _ error: any Error) {
    guard let reason = Self.reason(error) else { return nil }
    description = "the proxy \(proxy) \(reason)"
  }

  private static func reason(_ error: any Error) -> String? {
    switch error {
    case let error as HTTPClientError where error == .proxyAuthenticationRequired:
      return "refuses the user name and password, or requires them"
    case let error as HTTPClientError where error == .invalidProxyResponse:
      return "does not connect, or is no proxy of this kind"
    case let error as HTTPClientError where [.httpProxyHandshakeTimeout, .socksHandshakeTimeout].contains(error):
      return "did not connect in time"
    default: break
    }
    // All connections of the client are to the proxy.
    switch ConnectionFailure(error) {
    case .unknownHost: return "has an unknown host name"
    case .noServer: return "does not respond"
    case .timedOut: return "did not respond in time"
    default: return nil
    }
  }
}
