internal import FoundationEssentials

/// The address of an HTTP server, and the path that precedes the paths of its routes.
package struct HTTPAddress: Sendable, Hashable {
  /// The reason why a text is no address.
  package enum Fault: Error, Sendable, Hashable {
    /// The text is not an `http` or `https` URL with a host, or it has a query or a fragment, which no request has.
    case notHTTP
    /// The text contains a user name or a password, which a log could show.
    case credentials
    /// The port is not in the range 1 to 65535.
    case port
  }

  /// The scheme, the host and the port, without the path.
  package let origin: String
  /// The path without a slash at its end; empty for the root.
  package let path: String

  /// Reads an address.
  package init(_ url: String) throws(Fault) {
    guard let parsed = URL(string: url), let scheme = parsed.scheme?.lowercased(), ["http", "https"].contains(scheme),
      let host = parsed.host(), !host.isEmpty, parsed.query() == nil, parsed.fragment() == nil
    else { throw .notHTTP }
    guard parsed.user == nil, parsed.password == nil else { throw .credentials }
    guard URLComponents(string: url)?.hasPossiblePort == true else { throw .port }
    let port = parsed.port.map { ":\($0)" } ?? ""
    origin = "\(scheme)://\(host.contains(":") ? "[\(host)]" : host)\(port)"
    let path = parsed.path()
    self.path = path.hasSuffix("/") ? String(path.dropLast()) : path
  }

  /// The whole address, which precedes the path of a request.
  package var text: String { origin + path }
}
