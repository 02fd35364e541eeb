/// The rule that decides which names in `Host` and `Origin` mean this host.
///
/// A web site can make its own name resolve to 127.0.0.1 (DNS rebinding) and then send requests to this server from the
/// browser of a visitor. The browser still sends the name of the site, which this rule refuses.
///
/// ```swift
/// print(LoopbackRule.allows(host: "localhost:11435"))  // true
/// print(LoopbackRule.allows(origin: "https://example.org"))  // false
/// ```
public enum LoopbackRule {
  /// Returns `true` if a `Host` value (`name`, `name:port`, `[v6]:port`) is 127.0.0.0/8, ::1 or localhost.
  public static func allows(host value: String) -> Bool {
    guard let name = hostName(value) else { return false }
    return isLoopback(name)
  }

  /// Returns `true` if an `Origin` value (`scheme://host:port`) is a page of this host; `null` is not.
  public static func allows(origin value: String) -> Bool {
    guard let separator = value.firstRange(of: "://") else { return false }
    let rest = value[separator.upperBound...]
    guard !value[..<separator.lowerBound].isEmpty, !rest.contains(where: { "/@?#".contains($0) }) else { return false }
    return allows(host: String(rest))
  }

  /// Returns the name without the port; `nil` for a malformed value.
  private static func hostName(_ value: String) -> Substring? {
    let name: Substring
    let port: Substring
    if value.hasPrefix("[") {
      guard let end = value.firstIndex(of: "]") else { return nil }
      name = value[value.index(after: value.startIndex)..<end]
      port = value[value.index(after: end)...]
    } else {
      let colon = value.firstIndex(of: ":") ?? value.endIndex
      name = value[..<colon]
      port = value[colon...]
    }
    guard port.isEmpty || (port.first == ":" && port.dropFirst().utf8.allSatisfy { (0x30...0x39).contains($0) }) else {
      return nil
    }
    return name
  }

  private static func isLoopback(_ name: Substring) -> Bool {
    let name = name.lowercased()
    if name == "localhost" || name == "localhost." || name == "::1" { return true }
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4, parts[0] == "127" else { return false }
    return parts.allSatisfy { part in
      !part.isEmpty && part.utf8.allSatisfy { (0x30...0x39).contains($0) } && UInt8(part) != nil
    }
  }
}
