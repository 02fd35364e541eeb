internal import IncomingHTTP

/// The rule that decides which pages a browser may let read replies: those of this host, those that are part of a program
/// on it, and those that the user has named.
///
/// No web site can have an origin of the schemes of programs.
struct OriginRule: Sendable {
  /// The schemes of the pages of programs, as Ollama admits them.
  private static let programs: Set = ["app", "tauri", "vscode-webview", "vscode-file"]

  /// The origins that the user has named.
  let named: Set<String>

  /// Returns `true` if a page of the origin is admitted.
  func allows(_ origin: String) -> Bool {
    if LoopbackRule.allows(origin: origin) || named.contains(origin) { return true }
    guard let separator = origin.firstRange(of: "://") else { return false }
    return Self.programs.contains(origin[..<separator.lowerBound].lowercased())
      && separator.upperBound < origin.endIndex
  }
}
