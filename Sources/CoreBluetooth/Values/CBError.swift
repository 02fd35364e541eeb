import BlueZ

/// The domain of a ``CBError`` when it is used as an `NSError`.
public let CBErrorDomain = "CBErrorDomain"

/// An error of a manager or of a connection.
///
/// ```swift
/// let error: any Error = CBError(.connectionTimeout)
/// print((error as? CBError)?.code == .connectionTimeout, (error as NSError).domain)  // true CBErrorDomain
/// ```
public struct CBError: CustomNSError, LocalizedError, Hashable, @unchecked Sendable {
  // Sound: the values of `userInfo`, which no type restricts, are never changed after the initializer.

  /// The kind of a failure, with Apple's numbers.
  public enum Code: Int, Sendable {
    /// The failure has no code of its own; the description has the cause.
    case unknown = 0
    /// The parameters of the call are not valid.
    case invalidParameters = 1
    /// The attribute does not belong to the present connection.
    case invalidHandle = 2
    /// The device is not connected at present.
    case notConnected = 3
    /// The system has no space left for it.
    case outOfSpace = 4
    /// The operation was cancelled before it ended.
    case operationCancelled = 5
    /// The connection ended because the device did not respond.
    case connectionTimeout = 6
    /// The device ended the connection, or the adapter did.
    case peripheralDisconnected = 7
    /// The UUID is not one that is allowed.
    case uuidNotAllowed = 8
    /// The manager has an advertisement on the air already.
    case alreadyAdvertising = 9
    /// The connection could not be established at all.
    case connectionFailed = 10
    /// The limit of connections has been reached.
    case connectionLimitReached = 11
    /// The device is not known to the system.
    case unknownDevice = 12
    /// The operation is not supported here.
    case operationNotSupported = 13
    /// The device no longer has the keys of its bond.
    case peerRemovedPairingInformation = 14
    /// The encryption of the connection took too long.
    case encryptionTimedOut = 15
    /// The limit of paired LE devices has been reached.
    case tooManyLEPairedDevices = 16
    /// The background app was sent too many notifications; never on Linux.
    case leGattExceededBackgroundNotificationLimit = 17
    /// The background app is sent many notifications; never on Linux.
    case leGattNearBackgroundNotificationLimit = 18
  }

  /// The kind of the failure.
  public let code: Code
  /// The details of the failure, as an `NSError` has them.
  public let userInfo: [String: Any]

  /// Creates an error with a code and details.
  public init(_ code: Code, userInfo: [String: Any] = [:]) {
    self.code = code
    self.userInfo = userInfo
  }

  init(_ code: Code, _ description: String) {
    self.init(code, userInfo: [NSLocalizedDescriptionKey: description])
  }

  /// The domain of the error as an `NSError`.
  public static var errorDomain: String { CBErrorDomain }
  /// The number of the code.
  public var errorCode: Int { code.rawValue }
  /// The details of the error as an `NSError`.
  public var errorUserInfo: [String: Any] { userInfo }
  /// The description of the failure, for display.
  public var errorDescription: String? {
    userInfo[NSLocalizedDescriptionKey] as? String ?? "\(CBErrorDomain) \(code)"
  }

  /// Returns `true` if both have the same code; details do not count.
  public static func == (a: CBError, b: CBError) -> Bool { a.code == b.code }
  /// Hashes the code of the error.
  public func hash(into hasher: inout Hasher) { hasher.combine(code) }
}

extension CBError.Code {
  /// Matches an error with a code, for `catch CBError.notConnected`.
  public static func ~= (code: CBError.Code, error: any Error) -> Bool { (error as? CBError)?.code == code }
}

extension CBError {
  /// Creates the error that corresponds to one of `BlueZ`.
  init(_ error: BlueZError) {
    let code: Code =
      switch error.code {
      case .notConnected: .notConnected
      case .staleHandle: .invalidHandle
      case .timedOut: .connectionTimeout
      case .connectFailed: .connectionFailed
      case .deviceNotFound: .unknownDevice
      case .notSupported: .operationNotSupported
      case .invalidArgument, .advertisementTooLong: .invalidParameters
      case .authenticationFailed: .peerRemovedPairingInformation
      case .serviceUnavailable, .notPowered, .noAdapter: .connectionFailed
      default: .unknown
      }
    self.init(code, "\(error)")
  }

  /// The error that an app receives for one of the library, or for a task that was cancelled.
  static func wrapping(_ error: any Error) -> any Error {
    guard let error = error as? BlueZError else {
      return error is CancellationError ? CBError(.operationCancelled) : error
    }
    return CBATTError(error) ?? CBError(error)
  }
}

// Shorthands, as Apple's platforms have them: `error == CBError.notConnected` needs no `Code`.
extension CBError {
  /// The code of a failure without one of its own.
  public static var unknown: Code { .unknown }
  /// The code for parameters that are not valid.
  public static var invalidParameters: Code { .invalidParameters }
  /// The code for an attribute of an earlier connection.
  public static var invalidHandle: Code { .invalidHandle }
  /// The code for a device that is not connected.
  public static var notConnected: Code { .notConnected }
  /// The code for a lack of space.
  public static var outOfSpace: Code { .outOfSpace }
  /// The code for an operation that was cancelled.
  public static var operationCancelled: Code { .operationCancelled }
  /// The code for a device that did not respond.
  public static var connectionTimeout: Code { .connectionTimeout }
  /// The code for a connection that the device ended.
  public static var peripheralDisconnected: Code { .peripheralDisconnected }
  /// The code for a UUID that is not allowed.
  public static var uuidNotAllowed: Code { .uuidNotAllowed }
  /// The code for a second advertisement of one manager.
  public static var alreadyAdvertising: Code { .alreadyAdvertising }
  /// The code for a connection that could not be established.
  public static var connectionFailed: Code { .connectionFailed }
  /// The code for too many connections at once.
  public static var connectionLimitReached: Code { .connectionLimitReached }
  /// The code for a device that is not known.
  public static var unknownDevice: Code { .unknownDevice }
  /// The code for an operation that is not supported.
  public static var operationNotSupported: Code { .operationNotSupported }
  /// The code for a device without the keys of its bond.
  public static var peerRemovedPairingInformation: Code { .peerRemovedPairingInformation }
  /// The code for an encryption that took too long.
  public static var encryptionTimedOut: Code { .encryptionTimedOut }
  /// The code for too many paired LE devices.
  public static var tooManyLEPairedDevices: Code { .tooManyLEPairedDevices }
}
