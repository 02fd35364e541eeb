public import ErrorReporting

/// The failure that ended a connection to a phone, or prevented one.
///
/// ```swift
/// let failure = PhoneConnectionFailure(.pairingRequired, "the phone requires pairing")
/// if failure.code == .pairingRequired { print("pair first:", failure.message) }
/// ```
public struct PhoneConnectionFailure: ReportableError, Hashable {
  /// The kind of a connection failure; new codes may be added.
  public struct Code: Sendable, Hashable {
    let name: String
    /// The connection failed or was lost; a new attempt may succeed.
    public static let failed = Code(name: "failed")
    /// The central is closed, and has not paired with the phone; a user pairs the two.
    public static let notPaired = Code(name: "not paired")
    /// The phone is bonded, but not on the allow list of the central.
    public static let notListed = Code(name: "not listed")
    /// The phone is bonded and does not demand the security that the central requires, so nothing was sent to it.
    public static let encryptionMissing = Code(name: "encryption missing")
    /// The phone requires pairing, which the central never starts by itself.
    public static let pairingRequired = Code(name: "pairing required")
    /// The phone requires authenticated pairing, for which a user must be present at both ends.
    public static let authenticationRequired = Code(name: "authentication required")
    /// The phone rejects the present bond; both ends must remove it and pair again.
    public static let bondRejected = Code(name: "bond rejected")
  }

  /// The kind of the failure, for programs.
  public var code: Code
  /// The description of the failure for display.
  public var message: String
  /// The address of the phone, if the code is about pairing.
  public var address: String?

  /// Creates a failure from its fields.
  public init(_ code: Code, _ message: String, address: String? = nil) {
    self.code = code
    self.message = message
    self.address = address
  }

  /// Creates a failure from any error; one of this type is returned unchanged.
  init(_ error: any Error) {
    self = error as? PhoneConnectionFailure ?? PhoneConnectionFailure(.failed, "\(error)")
  }

  /// The kind of reaction that the code calls for.
  public var category: ErrorCategory { code == .failed ? .temporary : .notPermitted }

  /// The description of the failure for display.
  public var description: String { message }
}
