/// A release of BlueZ, and what it can and cannot do.
public struct BlueZVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The first number.
  public var major: Int
  /// The second number.
  public var minor: Int

  /// Makes a version.
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
  public static func < (a: BlueZVersion, b: BlueZVersion) -> Bool { (a.major, a.minor) < (b.major, b.minor) }

  /// Whether a notification written to one central's socket goes to that central alone. Since 5.69 each central has
  /// a socket of its own, but up to 5.75 what was written to one still went to all (bluez #820).
  public var notifiesOnePeer: Bool { self >= BlueZVersion(5, 76) }

  /// Whether each central has a notify and a write socket of its own (commit 8eb1dee).
  public var socketPerPeer: Bool { self >= BlueZVersion(5, 69) }

  /// The largest value a GATT server takes in one write, in bytes. Before 5.70 the length check counted the header
  /// (fixed by 8bf3a4a26): 511 and 512 bytes were refused.
  public var largestServerWrite: Int { self >= BlueZVersion(5, 70) ? 512 : 510 }

  /// The largest value a GATT server takes in a long (prepared) write, in bytes; see ``largestServerWrite``.
  public var largestServerLongWrite: Int { self >= BlueZVersion(5, 70) ? 512 : 508 }

  /// Whether `Device1` tells why a link ended (8b08f90).
  public var tellsDisconnectReason: Bool { self >= BlueZVersion(5, 83) }

  /// What a person who runs this version should know, one sentence each.
  public var limits: [String] {
    var limits: [String] = []
    if !socketPerPeer {
      limits.append("one notify socket serves all subscribed centrals: replies are broadcast and told apart by id")
    } else if !notifiesOnePeer {
      limits.append("a notification to one central still reaches all (fixed in 5.76)")
    }
    if largestServerWrite < 512 {
      limits.append("writes of 511 and 512 bytes and long writes over 508 are refused by its server (fixed in 5.70)")
    }
    if (BlueZVersion(5, 74)...BlueZVersion(5, 79)).contains(self) {
      limits.append("confirmations of indications are unreliable (fixed in 5.80)")
    }
    if self == BlueZVersion(5, 74) { limits.append("registering services can fail with 'Failed to create entry'") }
    return limits
  }
}
