public import ErrorReporting

/// An error that says why bytes are no value of their kind, or a value cannot be sent.
///
/// ```swift
/// do {
///   print(try BatteryLevel(bytes: [101]))
/// } catch where error.code == .invalidField {
///   print("the device is at fault:", error.message)
/// } catch {
///   print(error)
/// }
/// ```
public typealias ProfileError = CodedError<ProfileErrorDomain>

/// The domain of the codes of ``ProfileError``.
public enum ProfileErrorDomain {}

extension CodedError.Code where Domain == ProfileErrorDomain {
  /// The bytes end before the last field that they announce.
  public static var tooShort: Self { Self("too short", .failed) }
  /// There are bytes behind the last field.
  public static var tooLong: Self { Self("too long", .failed) }
  /// A field has a value that is reserved, or outside its range.
  public static var invalidField: Self { Self("invalid field", .failed) }
  /// The bytes are of a version or kind that this library does not read.
  public static var notSupported: Self { Self("not supported", .failed) }
  /// An argument is outside the range that can be sent; the message has the range.
  public static var invalidArgument: Self { Self("invalid argument", .invalidInput) }
}

extension ProfileError {
  /// Creates an error for a field that was received.
  static func invalidField(_ message: String) -> ProfileError { ProfileError(.invalidField, message) }
}
