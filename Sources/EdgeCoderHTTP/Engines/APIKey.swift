/// An API key that logs, errors and interpolated strings never show.
///
/// ```swift
/// let key = APIKey("sk-secret")
/// print(key ?? "malformed")  // •••
/// ```
public struct APIKey: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  let secret: String

  /// Creates a key; `nil` if the text is empty or contains anything but printable ASCII without spaces.
  public init?(_ secret: String) {
    guard !secret.isEmpty, secret.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else { return nil }
    self.secret = secret
  }

  /// The replacement of the key in every text, `•••`.
  public var description: String { "•••" }
  /// The replacement of the key in debug output, `•••`.
  public var debugDescription: String { "•••" }
  /// A mirror without children, so that dumps do not show the key.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
