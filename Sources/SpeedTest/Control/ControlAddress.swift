internal import JSONValues

/// An address of this client, as a control server sees it.
public struct ControlAddress: Sendable, Hashable, Codable {
  /// The version of IP, 4 or 6.
  public var version: Int
  /// The address that the server sees.
  public var external: String
  /// The address of this machine on the way to it; `nil` if it is unknown.
  public var local: String?

  /// A Boolean value that indicates whether the address is translated on the way; `nil` if that is unknown.
  public var isTranslated: Bool? { local.map { $0 != external } }

  /// Reads the reply to a check.
  /// - Returns: `nil` for a text that is no address, or one of the other version.
  init?(_ members: JSONValue, version: Int) {
    let members = LenientJSON(members)
    guard let text = members["ip"].text, Self.version(of: text) == version else { return nil }
    // The member is a string, and some servers send it as a number.
    if let said = members["v"].integer, said != version { return nil }
    self.version = version
    external = text
  }

  /// Returns the version of an address by its characters; `nil` for a text that is no address.
  static func version(of text: String) -> Int? {
    guard (2...45).contains(text.utf8.count) else { return nil }
    if text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }) {
      let parts = text.split(separator: ".", omittingEmptySubsequences: false)
      return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil } ? 4 : nil
    }
    let isIPv6 = text.contains(":") && text.allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
    return isIPv6 ? 6 : nil
  }
}
