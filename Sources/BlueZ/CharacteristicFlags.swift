/// The operations that a characteristic or a descriptor permits.
///
/// An encrypted connection is one to a paired device; an authenticated one was paired with a passkey or a comparison,
/// not with Just Works.
///
/// ```swift
/// let flags: CharacteristicFlags = [.read, .notify]
/// print(flags)  // read, notify
/// ```
public struct CharacteristicFlags: OptionSet, Sendable, Hashable, CustomStringConvertible {
  /// The bits, one for each flag.
  public let rawValue: UInt32

  /// Creates a set of flags from bits.
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// The value can be read by a central.
  public static let read = CharacteristicFlags(rawValue: 1 << 0)
  /// The value can be written with a response.
  public static let write = CharacteristicFlags(rawValue: 1 << 1)
  /// The value can be written without a response.
  public static let writeWithoutResponse = CharacteristicFlags(rawValue: 1 << 2)
  /// The characteristic sends notifications, which are not confirmed.
  public static let notify = CharacteristicFlags(rawValue: 1 << 3)
  /// The characteristic sends indications, which the peer confirms.
  public static let indicate = CharacteristicFlags(rawValue: 1 << 4)
  /// The value can be read over an encrypted connection only.
  public static let encryptRead = CharacteristicFlags(rawValue: 1 << 5)
  /// The value can be written over an encrypted connection only.
  public static let encryptWrite = CharacteristicFlags(rawValue: 1 << 6)
  /// The value can be read over an authenticated connection only.
  public static let encryptAuthenticatedRead = CharacteristicFlags(rawValue: 1 << 7)
  /// The value can be written over an authenticated connection only.
  public static let encryptAuthenticatedWrite = CharacteristicFlags(rawValue: 1 << 8)
  /// The value can be written in a reliable (prepared and verified) write.
  public static let reliableWrite = CharacteristicFlags(rawValue: 1 << 9)
  /// The value can be read only over an authenticated connection with LE Secure Connections.
  public static let secureRead = CharacteristicFlags(rawValue: 1 << 10)
  /// The value can be written only over an authenticated connection with LE Secure Connections.
  public static let secureWrite = CharacteristicFlags(rawValue: 1 << 11)
  /// Subscribing needs an encrypted connection; used together with ``notify``.
  public static let encryptNotify = CharacteristicFlags(rawValue: 1 << 12)
  /// Subscribing needs an authenticated connection; used together with ``notify``.
  public static let encryptAuthenticatedNotify = CharacteristicFlags(rawValue: 1 << 13)
  /// Subscribing needs an encrypted connection; used together with ``indicate``.
  public static let encryptIndicate = CharacteristicFlags(rawValue: 1 << 14)
  /// Subscribing needs an authenticated connection; used together with ``indicate``.
  public static let encryptAuthenticatedIndicate = CharacteristicFlags(rawValue: 1 << 15)

  /// Subscribing needs an authenticated connection with LE Secure Connections; used together with ``notify``.
  public static let secureNotify = CharacteristicFlags(rawValue: 1 << 16)
  /// Subscribing needs an authenticated connection with LE Secure Connections; used together with ``indicate``.
  public static let secureIndicate = CharacteristicFlags(rawValue: 1 << 17)
  /// Long and reliable writes must be authorized first, a flag of a server; see ``LocalCharacteristic``.
  public static let authorize = CharacteristicFlags(rawValue: 1 << 18)
  /// The value can be included in advertisements.
  public static let broadcast = CharacteristicFlags(rawValue: 1 << 19)
  /// The value can be written without response but with a signature, over a connection that is not encrypted.
  public static let authenticatedSignedWrites = CharacteristicFlags(rawValue: 1 << 20)
  /// The characteristic has the descriptor `2900`, whose content is ``reliableWrite`` and ``writableAuxiliaries``.
  public static let extendedProperties = CharacteristicFlags(rawValue: 1 << 21)
  /// The user description (descriptor `2901`) can be written.
  public static let writableAuxiliaries = CharacteristicFlags(rawValue: 1 << 22)

  /// The flags that protect a subscription.
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

  /// Creates flags from BlueZ's names; unknown names are ignored.
  init(_ names: [String]) {
    self.init(Self.names.filter { names.contains($0.0) }.map(\.1))
  }

  /// The names that BlueZ uses for the flags.
  var bluezNames: [String] { Self.names.filter { contains($0.1) }.map(\.0) }

  /// BlueZ's names of the flags, separated by commas.
  public var description: String { bluezNames.joined(separator: ", ") }
}
