import BlueZ

/// The domain of a ``CBATTError`` when it is used as an `NSError`.
public let CBATTErrorDomain = "CBATTErrorDomain"

/// An error with which a peer answers a request of the Attribute Protocol.
///
/// ```swift
/// let error: any Error = CBATTError(.insufficientAuthentication)
/// if (error as? CBATTError)?.code == .insufficientAuthentication { print("pair first") }
/// ```
public struct CBATTError: CustomNSError, LocalizedError, Hashable, @unchecked Sendable {
  // Sound: the values of `userInfo`, which no type restricts, are never changed after the initializer.

  /// The error code of the Attribute Protocol (Core Specification 3.F.3.4.1.1).
  public enum Code: RawRepresentable, Hashable, Sendable {
    /// The request was successful; it is no error.
    case success
    /// The handle is not valid on this server.
    case invalidHandle
    /// The value cannot be read by anybody.
    case readNotPermitted
    /// The value cannot be written by anybody.
    case writeNotPermitted
    /// The request itself was not well formed.
    case invalidPdu
    /// The request needs an authenticated connection: pair first.
    case insufficientAuthentication
    /// The server does not support the request.
    case requestNotSupported
    /// The offset is beyond the end of the value.
    case invalidOffset
    /// The server does not authorize this client.
    case insufficientAuthorization
    /// The server has too many prepared writes already.
    case prepareQueueFull
    /// The server found no attribute in the range.
    case attributeNotFound
    /// The value is not one that is read in parts.
    case attributeNotLong
    /// The key of the encryption is too short.
    case insufficientEncryptionKeySize
    /// The length of the value is not valid.
    case invalidAttributeValueLength
    /// The request failed for a reason without a code.
    case unlikelyError
    /// The request needs an encrypted connection.
    case insufficientEncryption
    /// The server does not group by this type.
    case unsupportedGroupType
    /// The server lacks the resources for the request.
    case insufficientResources
    /// A number without a name, such as those of applications (0x80 to 0x9f).
    case other(Int)

    private static let named: [Code] = [
      .success, .invalidHandle, .readNotPermitted, .writeNotPermitted, .invalidPdu, .insufficientAuthentication,
      .requestNotSupported, .invalidOffset, .insufficientAuthorization, .prepareQueueFull, .attributeNotFound,
      .attributeNotLong, .insufficientEncryptionKeySize, .invalidAttributeValueLength, .unlikelyError,
      .insufficientEncryption, .unsupportedGroupType, .insufficientResources,
    ]

    // By name: equality is that of the numbers.
    private static let numbers = Dictionary(
      uniqueKeysWithValues: named.enumerated().map { (String(describing: $1), $0) })

    /// Creates the code with a number; there is one for each, as on Apple's platforms.
    public init?(rawValue: Int) {
      self = Self.named.indices.contains(rawValue) ? Self.named[rawValue] : .other(rawValue)
    }

    /// The number of the code in the Core Specification.
    public var rawValue: Int {
      if case .other(let number) = self { return number }
      return Self.numbers[String(describing: self)] ?? 0
    }
  }

  /// The error code that the peer sent.
  public let code: Code
  /// The details of the failure, as an `NSError` has them.
  public let userInfo: [String: Any]

  /// Creates an error with a code and details.
  public init(_ code: Code, userInfo: [String: Any] = [:]) {
    self.code = code
    self.userInfo = userInfo
  }

  /// The domain of the error as an `NSError`.
  public static var errorDomain: String { CBATTErrorDomain }
  /// The number of the code.
  public var errorCode: Int { code.rawValue }
  /// The details of the error as an `NSError`.
  public var errorUserInfo: [String: Any] { userInfo }
  /// The description of the failure, for display.
  public var errorDescription: String? {
    userInfo[NSLocalizedDescriptionKey] as? String ?? "\(CBATTErrorDomain) \(code)"
  }

  /// Returns `true` if both have the same code; details do not count.
  public static func == (a: CBATTError, b: CBATTError) -> Bool { a.code == b.code }
  /// Hashes the code of the error.
  public func hash(into hasher: inout Hasher) { hasher.combine(code) }
}

extension CBATTError.Code {
  /// Matches an error with a code, for `catch CBATTError.Code.readNotPermitted`.
  public static func ~= (code: CBATTError.Code, error: any Error) -> Bool { (error as? CBATTError)?.code == code }
}

extension CBATTError {
  /// Creates the error that a peer sent, from what bluetoothd made of it (src/gatt-client.c,
  /// `create_gatt_dbus_error`); `nil` for an error of another kind.
  init?(_ error: BlueZError) {
    guard let cause = error.underlying else { return nil }
    let code: Code? =
      switch (cause.name, cause.message) {
      case ("org.bluez.Error.NotPermitted", "Read not permitted"): .readNotPermitted
      case ("org.bluez.Error.NotPermitted", "Write not permitted"): .writeNotPermitted
      case ("org.bluez.Error.NotPermitted", "Not paired"): .insufficientAuthentication
      case ("org.bluez.Error.NotAuthorized", _): .insufficientAuthorization
      case ("org.bluez.Error.InvalidOffset", _), (_, "Invalid offset"): .invalidOffset
      case ("org.bluez.Error.InvalidValueLength", _), (_, "Invalid Length"): .invalidAttributeValueLength
      case ("org.bluez.Error.NotSupported", _) where error.code == .notSupported: .requestNotSupported
      case ("org.bluez.Error.Failed", let text): Self.number(in: text).flatMap(Code.init)
      default: nil
      }
    guard let code else { return nil }
    self.init(code, userInfo: [NSLocalizedDescriptionKey: "\(error)"])
  }

  /// Returns the code in "Operation failed with ATT error: 0x80".
  private static func number(in text: String) -> Int? {
    guard let range = text.range(of: "ATT error: 0x") else { return nil }
    return Int(text[range.upperBound...].prefix { $0.isHexDigit }, radix: 16)
  }
}

// Shorthands, as Apple's platforms have them.
extension CBATTError {
  /// The code for a successful request.
  public static var success: Code { .success }
  /// The code for a handle that is not valid.
  public static var invalidHandle: Code { .invalidHandle }
  /// The code for a value that cannot be read.
  public static var readNotPermitted: Code { .readNotPermitted }
  /// The code for a value that cannot be written.
  public static var writeNotPermitted: Code { .writeNotPermitted }
  /// The code for a request that is not well formed.
  public static var invalidPdu: Code { .invalidPdu }
  /// The code for a connection without authentication.
  public static var insufficientAuthentication: Code { .insufficientAuthentication }
  /// The code for a request that is not supported.
  public static var requestNotSupported: Code { .requestNotSupported }
  /// The code for an offset beyond the value's end.
  public static var invalidOffset: Code { .invalidOffset }
  /// The code for a client without authorization.
  public static var insufficientAuthorization: Code { .insufficientAuthorization }
  /// The code for too many prepared writes.
  public static var prepareQueueFull: Code { .prepareQueueFull }
  /// The code for an attribute that was not found.
  public static var attributeNotFound: Code { .attributeNotFound }
  /// The code for a value that is not read in parts.
  public static var attributeNotLong: Code { .attributeNotLong }
  /// The code for a key that is too short.
  public static var insufficientEncryptionKeySize: Code { .insufficientEncryptionKeySize }
  /// The code for a value of a wrong length.
  public static var invalidAttributeValueLength: Code { .invalidAttributeValueLength }
  /// The code for a failure without a code.
  public static var unlikelyError: Code { .unlikelyError }
  /// The code for a connection without encryption.
  public static var insufficientEncryption: Code { .insufficientEncryption }
  /// The code for a type that the server does not group by.
  public static var unsupportedGroupType: Code { .unsupportedGroupType }
  /// The code for a server without the resources.
  public static var insufficientResources: Code { .insufficientResources }
}
