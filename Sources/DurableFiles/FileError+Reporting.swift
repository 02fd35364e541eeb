public import ErrorReporting
import Glibc

extension FileError: ReportableError {
  /// The operation, the path and the kernel's text for the error number.
  public var message: String { description }
  /// The reaction that the code calls for.
  public var category: ErrorCategory {
    isOutOfSpace ? .unavailable : errno == EACCES || errno == EPERM || errno == EROFS ? .notPermitted : .failed
  }
}
