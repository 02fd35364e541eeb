internal import FoundationEssentials

/// The proxies that requests go through, as variables of the environment name them.
///
/// Requests for `https` URLs go through the proxy of `https_proxy`, `HTTPS_PROXY`, `all_proxy` or `ALL_PROXY`, the first
/// that is set; those for `http` URLs through that of `http_proxy`, `all_proxy` or `ALL_PROXY`. A proxy is written as
/// `http://HOST:PORT`, with a user name and password if it wants them, or as `socks5://HOST:PORT`. Hosts in `no_proxy` or
/// `NO_PROXY` are reached directly, and so is this host, always.
///
/// ```swift
/// let settings = ProxySettings(["HTTPS_PROXY": "http://proxy.example:3128", "NO_PROXY": ".example.org,10.0.0.0/8"])
/// print(try settings.proxy(for: "https://store.example")?.host ?? "direct")  // proxy.example
/// print(try settings.proxy(for: "https://www.example.org")?.host ?? "direct")  // direct
/// ```
public struct ProxySettings: Sendable, Hashable {
  /// A variable whose value is no URL of a proxy; the value, which can contain a password, is not part of the error.
  public struct InvalidProxy: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name of the variable, such as `HTTPS_PROXY`.
    public let variable: String

    /// The variable and the allowed values, for display.
    public var description: String {
      "the variable \(variable) names no proxy; allowed: http://HOST:PORT and socks5://HOST:PORT"
    }
  }

  /// A proxy, as the value of a variable describes it.
  public struct Proxy: Sendable, Hashable {
    /// The protocol that a proxy speaks.
    public enum Kind: Sendable, Hashable {
      /// HTTP with the method `CONNECT`.
      case http
      /// SOCKS 5; the proxy resolves host names.
      case socks5
    }

    /// The protocol of the proxy.
    public var kind: Kind
    /// The host name or address of the proxy.
    public var host: String
    /// The port of the proxy.
    public var port: Int
    /// The user name and password for the proxy, separated by a colon; `nil` for none.
    var login: String?
  }

  private enum Setting: Hashable {
    case proxy(Proxy)
    case invalid(variable: String)
  }

  private let encrypted: Setting?
  private let plain: Setting?
  private let exceptions: ProxyExceptions

  /// Settings by which no request goes through a proxy.
  public static let none = ProxySettings([:])

  /// The settings in the environment of this process.
  public static var environment: ProxySettings { ProxySettings(ProcessInfo.processInfo.environment) }

  /// Creates settings from variables; a variable that is empty is not set.
  public init(_ environment: [String: String]) {
    func setting(_ names: String...) -> Setting? {
      for name in names {
        guard let text = environment[name], !text.isEmpty else { continue }
        return Proxy(text).map(Setting.proxy) ?? .invalid(variable: name)
      }
      return nil
    }
    encrypted = setting("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
    // Not HTTP_PROXY: under a web server, a request sets it by its header `Proxy`.
    plain = setting("http_proxy", "all_proxy", "ALL_PROXY")
    exceptions = ProxyExceptions(environment["no_proxy"] ?? environment["NO_PROXY"] ?? "")
  }

  /// Returns the proxy for a URL; `nil` if the request goes to the server directly.
  /// - Throws: ``InvalidProxy`` if the variable for such URLs names no proxy: a request must not silently go without it.
  public func proxy(for url: String) throws(InvalidProxy) -> Proxy? {
    guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased(), let host = parts.host else {
      return nil
    }
    guard let setting = scheme == "https" ? encrypted : plain else { return nil }
    guard !exceptions.contain(host: host, port: parts.port ?? (scheme == "https" ? 443 : 80)) else { return nil }
    switch setting {
    case .proxy(let proxy): return proxy
    case .invalid(let variable): throw InvalidProxy(variable: variable)
    }
  }

  /// All proxies of the settings.
  var proxies: Set<Proxy> {
    Set([encrypted, plain].compactMap { if case .proxy(let proxy) = $0 { proxy } else { nil } })
  }
}

extension ProxySettings.Proxy: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The URL of the proxy without its user name and password.
  public var description: String {
    "\(kind == .http ? "http" : "socks5")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
  }
  /// The same, so that no debugger's or logger's text has the password either.
  public var debugDescription: String { description }
  /// The proxy without its user name and password.
  public var customMirror: Mirror { Mirror(self, children: ["host": host, "port": port]) }
}

extension ProxySettings.Proxy {
  /// Creates a proxy from the value of a variable; `nil` if it is no URL of a proxy.
  init?(_ text: String) {
    guard let parts = URLComponents(string: text.contains("://") ? text : "http://" + text),
      let host = parts.host?.trimmingBrackets, !host.isEmpty, parts.hasPossiblePort
    else { return nil }
    let user = parts.user ?? ""
    switch parts.scheme?.lowercased() {
    case "http":
      self.init(
        kind: .http, host: host, port: parts.port ?? 80,
        login: user.isEmpty ? nil : "\(user):\(parts.password ?? "")")
    // A name and password for SOCKS are not supported: to leave them out would fail in a less clear way.
    case "socks5" where user.isEmpty, "socks5h" where user.isEmpty:
      self.init(kind: .socks5, host: host, port: parts.port ?? 1080, login: nil)
    default: return nil
    }
  }
}

extension String {
  /// The address in brackets, as a URL contains one of IPv6; the text itself without brackets.
  var trimmingBrackets: String { hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : self }
}
