internal import FoundationEssentials
import Glibc
internal import MessageSending
internal import OutgoingHTTP

/// The parts of a URL that names a server, checked.
struct ServerAddress {
  /// The scheme, host, port and path, without a slash at the end.
  let base: String
  /// The host without brackets.
  let host: String
  let port: Int?
  let isSecure: Bool

  /// Creates the address of an HTTP server.
  init(_ url: String) throws(MessageSendingError) {
    try self.init(url, schemes: ["https", "http"], "the server's URL")
  }

  /// Creates the address of a SOCKS proxy.
  init(proxy url: String) throws(MessageSendingError) {
    try self.init(url, schemes: ["socks5", "socks5h"], "the proxy's URL")
  }

  private init(_ url: String, schemes: [String], _ name: String) throws(MessageSendingError) {
    guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased(), schemes.contains(scheme),
      let host = parts.host, !host.isEmpty, host != "[]", parts.user == nil, parts.password == nil, parts.query == nil,
      parts.fragment == nil, parts.hasPossiblePort
    else {
      throw MessageSendingError(
        .invalidArgument, "\(name) is '\(url)'; required: \(schemes[0])://HOST, without user, query and fragment")
    }
    self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    port = parts.port
    isSecure = scheme == "https"
    var base = url
    while base.hasSuffix("/") { base.removeLast() }
    self.base = base
  }

  /// The value of the header `Host`.
  var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port.map { $0 == (isSecure ? 443 : 80) ? name : "\(name):\($0)" } ?? name
  }

  /// A Boolean value that indicates whether the host is this one.
  var isLoopback: Bool {
    host == "localhost" || host == "::1" || host.hasPrefix("127.") && Self.isNumeric(host)
  }

  /// A Boolean value that indicates whether the host is an onion service of Tor, whose name is its key.
  var isOnion: Bool { host.lowercased().hasSuffix(".onion") }

  /// Returns whether a host is an address and no name.
  static func isNumeric(_ host: String) -> Bool {
    var four = in_addr()
    var six = in6_addr()
    return inet_pton(AF_INET, host, &four) == 1 || inet_pton(AF_INET6, host, &six) == 1
  }
}
