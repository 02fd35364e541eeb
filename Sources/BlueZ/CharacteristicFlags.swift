/// What may be done with a characteristic or a descriptor.
///
/// An encrypted link is one to a paired device; an authenticated one was paired with a passkey or a comparison, not
/// with Just Works.
public struct CharacteristicFlags: OptionSet, Sendable, Hashable, CustomStringConvertible {
  /// One bit for each flag.
  public let rawValue: UInt32

  /// From bits.
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Can be read.
  public static let read = CharacteristicFlags(rawValue: 1 << 0)
  /// Can be written with response.
  public static let write = CharacteristicFlags(rawValue: 1 << 1)
  /// Can be written without response.
  public static let writeWithoutResponse = CharacteristicFlags(rawValue: 1 << 2)
  /// Sends notifications.
  public static let notify = CharacteristicFlags(rawValue: 1 << 3)
  /// Sends indications, which the peer confirms.
  public static let indicate = CharacteristicFlags(rawValue: 1 << 4)
  /// Can be read over an encrypted link only.
  public static let encryptRead = CharacteristicFlags(rawValue: 1 << 5)
  /// Can be written over an encrypted link only.
  public static let encryptWrite = CharacteristicFlags(rawValue: 1 << 6)
  /// Can be read over an authenticated link only.
  public static let encryptAuthenticatedRead = CharacteristicFlags(rawValue: 1 << 7)
  /// Can be written over an authenticated link only.
  public static let encryptAuthenticatedWrite = CharacteristicFlags(rawValue: 1 << 8)
  /// Can be written in a reliable (prepared and verified) write.
  public static let reliableWrite = CharacteristicFlags(rawValue: 1 << 9)
  /// Can be read over a link secured with LE Secure Connections only, authenticated.
  public static let secureRead = CharacteristicFlags(rawValue: 1 << 10)
  /// Can be written over a link secured with LE Secure Connections only, authenticated.
  public static let secureWrite = CharacteristicFlags(rawValue: 1 << 11)
  /// Can be subscribed to over an encrypted link only; beside ``notify``.
  public static let encryptNotify = CharacteristicFlags(rawValue: 1 << 12)
  /// Can be subscribed to over an authenticated link only; beside ``notify``.
  public static let encryptAuthenticatedNotify = CharacteristicFlags(rawValue: 1 << 13)
  /// Can be subscribed to over an encrypted link only; beside ``indicate``.
  public static let encryptIndicate = CharacteristicFlags(rawValue: 1 << 14)
  /// Can be subscribed to over an authenticated link only; beside ``indicate``.
  public static let encryptAuthenticatedIndicate = CharacteristicFlags(rawValue: 1 << 15)

  /// Can be subscribed to over a link secured with LE Secure Connections only, authenticated; beside ``notify``.
  public static let secureNotify = CharacteristicFlags(rawValue: 1 << 16)
  /// Can be subscribed to over a link secured with LE Secure Connections only, authenticated; beside ``indicate``.
  public static let secureIndicate = CharacteristicFlags(rawValue: 1 << 17)
  /// Long and reliable writes are asked about before they are taken; see ``LocalCharacteristic``. A server's flag.
  public static let authorize = CharacteristicFlags(rawValue: 1 << 18)
  /// Its value can be put into advertisements.
  public static let broadcast = CharacteristicFlags(rawValue: 1 << 19)
  /// Can be written without response with a signature, over a link that is not encrypted.
  public static let authenticatedSignedWrites = CharacteristicFlags(rawValue: 1 << 20)
  /// Has a descriptor that says more (`2900`); what it says is ``reliableWrite`` and ``writableAuxiliaries``.
  public static let extendedProperties = CharacteristicFlags(rawValue: 1 << 21)
  /// Its user description (`2901`) can be written.
  public static let writableAuxiliaries = CharacteristicFlags(rawValue: 1 << 22)

  /// Those that protect a subscription.
  static let protectedSubscription: CharacteristicFlags = [
    .encryptNotify, .encryptAuthenticatedNotify, .secureNotify, .encryptIndicate, .encryptAuthenticatedIndicate,
    .secureIndicate,
  ]

  private static let names: [(String, CharacteristicFlags)] = [
    ("read", .read), ("write", .write), ("write-without-response", .writeWithoutResponse), ("notify", .notify),
    ("indicate", .indicate), ("encrypt-read", .encryptRead), ("encrypt-write", .encryptWrite),
    ("encrypt-authenticated-read", .encryptAuthenticatedRead),
    ("encrypt-authenticated-write", .encryptAuthenticatedWrite), ("reliable-write", .reliableWrite),
    ("secure-read", .secureRead), ("secure-write", .secureWrite), ("encrypt-notify", .encryptNotify),
    ("encrypt-authenticated-notify", .encryptAuthenticatedNotify), ("secure-notify", .secureNotify),
    ("encrypt-indicate", .encryptIndicate), ("encrypt-authenticated-indicate", .encryptAuthenticatedIndicate),
    ("secure-indicate", .secureIndicate), ("authorize", .authorize), ("broadcast", .broadcast),
    ("authenticated-signed-writes", .authenticatedSignedWrites), ("extended-properties", .extendedProperties),
    ("writable-auxiliaries", .writableAuxiliaries),
  ]

  /// From BlueZ's names; those not known here are left out.
  init(_ names: [String]) {
    self.init(Self.names.filter { names.contains($0.0) }.map(\.1))
  }

  /// BlueZ's names.
  var bluezNames: [String] { Self.names.filter { contains($0.1) }.map(\.0) }

  /// BlueZ's names with commas.
  public var description: String { bluezNames.joined(separator: ", ") }
}
