internal import JSONValues

/// The settings that a control server sends to a client.
public struct ControlSettings: Sendable, Hashable {
  /// The terms and conditions of a control server.
  public struct Terms: Sendable, Hashable {
    /// The version that a client accepts.
    public var version: Int
    /// The address of the text, if the server names one.
    public var url: String?
  }

  /// The identifier of the client at this server; `nil` if the server has assigned none.
  public var client: String?
  /// The terms and conditions, if the server has any.
  public var terms: Terms?
  /// The address of the check of the IPv4 address.
  public var ipv4Check: String?
  /// The address of the check of the IPv6 address.
  public var ipv6Check: String?
  /// The version of the server, for display.
  public var serverVersion: String?

  /// Reads settings; what is missing or malformed is `nil`.
  init(_ members: JSONValue) {
    let members = LenientJSON(members)
    let settings = members["settings"].elements.first ?? members["settings"]
    client = settings["uuid"].text.flatMap { ControlIdentifier.isClient($0) ? $0 : nil }
    let terms = settings["terms_and_conditions"]
    self.terms = terms["version"].integer.map { Terms(version: $0, url: ControlURL(terms["url"].text)?.text) }
    ipv4Check = ControlURL(settings["urls"]["url_ipv4_check"].text)?.text
    ipv6Check = ControlURL(settings["urls"]["url_ipv6_check"].text)?.text
    serverVersion = settings["versions"]["control_server_version"].text
  }
}

/// The forms of identifiers, some of which have a letter before the UUID.
enum ControlIdentifier {
  /// Returns `true` for a UUID, also behind the letter U.
  static func isClient(_ text: String) -> Bool { isUUID(text) || text.hasPrefix("U") && isUUID(text.dropFirst()) }

  /// Returns the UUID without the letter before it; `nil` for another text.
  static func uuid(_ text: String?) -> String? {
    guard let text else { return nil }
    if isUUID(text) { return text }
    guard let first = text.first, "OLTU".contains(first), isUUID(text.dropFirst()) else { return nil }
    return String(text.dropFirst())
  }

  private static func isUUID(_ text: some StringProtocol) -> Bool {
    let groups = text.split(separator: "-", omittingEmptySubsequences: false)
    return groups.map(\.utf8.count) == [8, 4, 4, 4, 12] && groups.allSatisfy { $0.allSatisfy(\.isHexDigit) }
      && text.utf8.count == 36
  }
}

/// An address that a control server names: `http` or `https`, without a user name, white space or a fragment.
struct ControlURL: Sendable, Hashable {
  let text: String
  let isEncrypted: Bool

  init?(_ text: String?) {
    guard let text, text.utf8.count <= 2048, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }),
      !text.contains("#"), let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://")
    else { return nil }
    let scheme = text[..<colon].lowercased()
    let authority = text[colon...].dropFirst(3).prefix { $0 != "/" && $0 != "?" }
    guard ["http", "https"].contains(scheme), !authority.isEmpty, !authority.contains("@") else { return nil }
    self.text = text
    isEncrypted = scheme == "https"
  }
}
