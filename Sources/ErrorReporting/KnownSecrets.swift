/// The secrets of a request, which a response may echo, for removing them from whatever is kept of the response.
///
/// A server that explains its refusal likes to quote what it refused.
package struct KnownSecrets: Sendable {
  /// The text in the place of a secret.
  package static let replacement = "•••"
  /// The length in bytes below which a text is no secret: it would be found in ordinary words.
  private static let shortest = 4

  private let secrets: [[UInt8]]

  /// Creates a set of secrets; empty and very short ones are ignored.
  package init(_ secrets: [String?]) {
    let all = secrets.compactMap(\.self).filter { $0.utf8.count >= Self.shortest }
    // In JSON, a slash may be escaped.
    let forms = all + all.filter { $0.utf8.contains(UInt8(ascii: "/")) }.map(Self.escaped)
    self.secrets = forms.map { Array($0.utf8) }
  }

  private static func escaped(_ text: String) -> String { text.map { $0 == "/" ? "\\/" : String($0) }.joined() }

  /// Returns a text with ``replacement`` in the place of each secret.
  package func removed(from text: String) -> String {
    let bytes = Array(text.utf8)
    let clean = removed(from: bytes)
    return clean.count == bytes.count && clean == bytes ? text : String(decoding: clean, as: UTF8.self)
  }

  /// Returns bytes with ``replacement`` in the place of each secret.
  package func removed(from bytes: [UInt8]) -> [UInt8] {
    var clean = bytes
    for secret in secrets { clean = Self.removing(secret, from: clean) }
    return clean
  }

  private static func removing(_ secret: [UInt8], from bytes: [UInt8]) -> [UInt8] {
    guard let first = secret.first, bytes.count >= secret.count else { return bytes }
    var clean: [UInt8] = []
    var rest = bytes[...]
    while let start = rest.firstIndex(of: first) {
      clean += rest[..<start]
      if rest[start...].starts(with: secret) {
        clean += Array(replacement.utf8)
        rest = rest[(start + secret.count)...]
      } else {
        clean.append(first)
        rest = rest[(start + 1)...]
      }
    }
    return clean + rest
  }
}

extension Error {
  /// The error in words that are safe to keep and to show: those of a ``ReportableError``, and the name of any other type.
  ///
  /// The text of an unknown error can quote what it failed on, such as the header with a token.
  package var safeText: String {
    if let error = self as? any ReportableError { return error.description }
    return self is CancellationError ? "cancelled" : "an error of the type \(type(of: self))"
  }
}
