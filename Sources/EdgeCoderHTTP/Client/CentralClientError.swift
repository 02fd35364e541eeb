public import ErrorReporting

/// An error of a request to a central in another process.
///
/// ```swift
/// let client = CentralClient()
/// do {
///   print(try await client.fetchStatus().phones.count)
/// } catch let error as CentralClientError where error.code == .unreachable {
///   print("no central is running:", error.message)
/// }
/// ```
public typealias CentralClientError = CodedError<CentralClientErrorDomain>

/// The domain of the codes of ``CentralClientError``.
public enum CentralClientErrorDomain {}

extension CodedError.Code where Domain == CentralClientErrorDomain {
  /// No server answers at the address.
  public static var unreachable: Self { Self("unreachable", .unavailable) }
  /// The server at the address is not a central.
  public static var notACentral: Self { Self("not a central", .unavailable) }
  /// The central did not answer within the timeout.
  public static var timedOut: Self { Self("timed out", .temporary) }
  /// The central closed the connection in the middle of its reply.
  public static var interrupted: Self { Self("interrupted", .unavailable) }
  /// The central refused the request as invalid.
  public static var refused: Self { Self("refused", .invalidInput) }
}

extension CodedError where Domain == CentralClientErrorDomain {
  static func notACentral(at url: String) -> CentralClientError {
    CentralClientError(.notACentral, "the server at \(url) is not an EdgeBlue central", hint: "check the port")
  }

  static func interrupted(at url: String) -> CentralClientError {
    CentralClientError(.interrupted, "the central at \(url) closed the connection in the middle of its reply")
  }
}
