/// The kind of a quality-of-service test, by its name at control servers.
public enum QoSKind: String, Sendable, Hashable, Codable, CaseIterable {
  /// Connections over TCP to a port and from it.
  case tcp
  /// Datagrams to a port and from it.
  case udp
  /// A stream of datagrams in the rhythm of a call.
  case voip
  /// A line that nothing on the way may change.
  case nonTransparentProxy = "non_transparent_proxy"
  /// A file over HTTP that nothing on the way may change.
  case httpProxy = "http_proxy"
  /// The loading of a page.
  case website
  /// A query of a resolver.
  case dns
  /// The route to a host.
  case traceroute
  /// The route to a host, without the last part of each address.
  case tracerouteMasked = "traceroute_masked"

  /// The part before the keys of its results.
  var prefix: String {
    switch self {
    case .nonTransparentProxy: "nontransproxy"
    case .httpProxy: "http"
    case .tracerouteMasked: "traceroute"
    default: rawValue
    }
  }

  /// A Boolean value that indicates whether the test needs a connection to the QoS server.
  package var usesServer: Bool { [.tcp, .udp, .voip, .nonTransparentProxy].contains(self) }
}
