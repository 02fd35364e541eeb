/// A link of an Eddystone beacon, which abbreviates schemes and common endings to fit into 18 bytes.
///
/// ```swift
/// let link = try EddystoneURL("https://www.example.com/menu")
/// print(link.byteCount)  // 13
/// ```
public struct EddystoneURL: Sendable, Hashable {
  /// The link as text, written out.
  public let text: String
  /// The bytes of the link in a frame, behind the power.
  let bytes: [UInt8]

  /// The number of bytes that the link needs in a frame, at most 18.
  public var byteCount: Int { bytes.count }

  private static let longest = 17
  private static let schemes = ["http://www.", "https://www.", "http://", "https://"]
  private static let names = [".com", ".org", ".edu", ".net", ".info", ".biz", ".gov"]
  /// The endings by their codes: those with a slash first.
  private static let endings = names.map { $0 + "/" } + names
  private static let printable: ClosedRange<UInt8> = 0x21...0x7e

  /// Creates a link from an address with the scheme `http` or `https`.
  /// - Throws: ``ProfileError`` with the code `.invalidArgument` for another scheme, characters that are not printable
  ///   ASCII, and links that are too long.
  public init(_ text: String) throws(ProfileError) {
    guard let scheme = Self.schemes.firstIndex(where: text.hasPrefix) else {
      throw ProfileError(.invalidArgument, "Eddystone URL: a link begins with http:// or https://")
    }
    var rest = Array(text.utf8)[Self.schemes[scheme].utf8.count...]
    guard rest.allSatisfy(Self.printable.contains) else {
      throw ProfileError(.invalidArgument, "Eddystone URL: a link has printable ASCII characters alone")
    }
    var encoded: [UInt8] = []
    while let next = rest.first {
      if let code = Self.endings.firstIndex(where: { rest.starts(with: $0.utf8) }) {
        encoded.append(UInt8(code))
        rest = rest.dropFirst(Self.endings[code].utf8.count)
      } else {
        encoded.append(next)
        rest = rest.dropFirst()
      }
    }
    guard encoded.count <= Self.longest else {
      throw ProfileError(
        .invalidArgument, "Eddystone URL: the link needs \(encoded.count) bytes, and at most \(Self.longest) fit")
    }
    self.text = text
    bytes = [UInt8(scheme)] + encoded
  }

  /// Reads a link to the end of a frame.
  init(_ reader: inout ByteReader) throws(ProfileError) {
    let scheme = Int(try reader.integer(UInt8.self))
    guard scheme < Self.schemes.count else { throw .invalidField("Eddystone URL: \(scheme) is no scheme") }
    let encoded = try reader.bytes(reader.rest.count)
    guard encoded.count <= Self.longest else {
      throw ProfileError(.tooLong, "Eddystone URL: \(encoded.count) bytes are more than \(Self.longest)")
    }
    var text = Self.schemes[scheme]
    for byte in encoded {
      if Int(byte) < Self.endings.count {
        text += Self.endings[Int(byte)]
      } else if Self.printable.contains(byte) {
        text.append(Character(Unicode.Scalar(byte)))
      } else {
        throw .invalidField("Eddystone URL: the byte \(byte) is reserved")
      }
    }
    self.text = text
    bytes = [UInt8(scheme)] + encoded
  }

  /// Returns a Boolean value that indicates whether two links are the same address, however they were abbreviated.
  public static func == (one: EddystoneURL, other: EddystoneURL) -> Bool { one.text == other.text }

  /// Hashes the text of the link.
  public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
