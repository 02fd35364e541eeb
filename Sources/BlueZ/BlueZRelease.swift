/// A release of BlueZ, such as 5.66, with the capabilities it has.
///
/// ```swift
/// if let release = await session.version(), !release.has(.notifiesOnePeer) {
///   print("BlueZ \(release): every notification reaches all subscribers")
/// }
/// ```
public struct BlueZRelease: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The major version, 5 in 5.66.
  public var major: Int
  /// The minor version, 66 in 5.66.
  public var minor: Int

  /// The end of all releases, for a range that no release has ended yet.
  public static let latest = BlueZRelease(.max, .max)

  /// Creates a release from its two numbers.
  public init(_ major: Int, _ minor: Int) {
    self.major = major
    self.minor = minor
  }

  /// Creates a release from text such as `5.66`, which may be followed by anything.
  /// - Returns: `nil` when the text does not begin with two numbers.
  public init?(_ text: some StringProtocol) {
    let numbers = text.split(separator: ".", maxSplits: 1)
    guard numbers.count == 2, let major = Int(numbers[0]), let minor = Int(numbers[1].prefix { $0.isNumber }) else {
      return nil
    }
    self.init(major, minor)
  }

  /// The release as text, such as `5.66`.
  public var description: String { "\(major).\(minor)" }

  /// Returns `true` if the first release is older than the second.
  public static func < (a: BlueZRelease, b: BlueZRelease) -> Bool { (a.major, a.minor) < (b.major, b.minor) }
}
