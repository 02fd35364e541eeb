/// A release of BlueZ. What it can and cannot do is in ``Capability``.
public struct BlueZRelease: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The first number.
  public var major: Int
  /// The second number.
  public var minor: Int

  /// Makes a release.
  public init(_ major: Int, _ minor: Int) {
    self.major = major
    self.minor = minor
  }

  /// Reads `5.66`, with anything behind it.
  public init?(_ text: some StringProtocol) {
    let numbers = text.split(separator: ".", maxSplits: 1)
    guard numbers.count == 2, let major = Int(numbers[0]), let minor = Int(numbers[1].prefix { $0.isNumber }) else {
      return nil
    }
    self.init(major, minor)
  }

  /// `5.66`
  public var description: String { "\(major).\(minor)" }

  /// By age.
  public static func < (a: BlueZRelease, b: BlueZRelease) -> Bool { (a.major, a.minor) < (b.major, b.minor) }
}
