/// An error that a program can report to its user without knowing the library that threw it.
///
/// Every error of EdgeBlue's libraries conforms, so that one function serves all of them:
///
/// ```swift
/// func report(_ error: any Error) -> Int32 {
///   guard let error = error as? any ReportableError else { return 70 }
///   print(error.message)
///   if let hint = error.hint { print("hint:", hint) }
///   return error.category == .temporary ? 75 : 70
/// }
/// ```
///
/// A library's hint names what to do to the system (start a service, make room on the disk), never an option of a
/// program: the program adds that itself.
public protocol ReportableError: Error, CustomStringConvertible {
  /// The failure in words, for a user; one line without a full stop.
  var message: String { get }
  /// The action that can help, if one is known.
  var hint: String? { get }
  /// The kind of reaction that is appropriate, for example for an exit status.
  var category: ErrorCategory { get }
  /// The error behind this one, if there is one.
  var cause: (any Error)? { get }
}

extension ReportableError {
  /// The default hint, which is `nil`.
  public var hint: String? { nil }
  /// The default cause, which is `nil`.
  public var cause: (any Error)? { nil }
}

/// The kind of reaction that an error calls for.
public enum ErrorCategory: Sendable, Hashable, CaseIterable {
  /// The caller or the user passed something that can never work: correct it.
  case invalidInput
  /// The system or a peer does not permit it: obtain the permission.
  case notPermitted
  /// Something that is needed does not exist or does not run: provide it.
  case unavailable
  /// The operation may succeed later: retry it.
  case temporary
  /// The operation failed for another reason; a retry is not expected to help.
  case failed
}
