internal import FoundationEssentials

extension URLComponents {
  /// A Boolean value that indicates whether the port, if there is one, is a number that a server can have.
  var hasPossiblePort: Bool {
    // The property `port` is `nil` for a number without an integer, too, and the usual port would be used instead.
    guard let text = string, let range = rangeOfPort else { return true }
    return Int(text[range]).map { (1...65_535).contains($0) } ?? false
  }
}

extension String {
  /// The URL for an error: not the text itself if it may contain a password.
  var namedURL: String { contains("@") ? "a URL with a user name or password" : "“\(self)”" }
}
