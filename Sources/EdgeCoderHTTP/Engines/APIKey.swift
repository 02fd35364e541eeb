/// A secret that a log, an error or an interpolated string never shows.
public struct APIKey: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  let secret: String

  /// Makes a key; `nil` when the text is empty or holds anything but printable ASCII, which no HTTP header can carry.
  public init?(_ secret: String) {
    guard !secret.isEmpty, secret.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else { return nil }
    self.secret = secret
  }

  /// Always `•••`.
  public var description: String { "•••" }
  /// Always `•••`.
  public var debugDescription: String { "•••" }
  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
