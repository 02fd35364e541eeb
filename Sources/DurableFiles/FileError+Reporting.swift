public import ErrorReporting
import Glibc

extension FileError: ReportableError {
  /// The operation, the path and the kernel's text for the error number.
  public var message: String { description }
  /// The reaction that the code calls for.
  public var category: ErrorCategory {
    if isOutOfSpace { return .unavailable }
    return switch errno {
    case ENOENT, ENOTDIR: .unavailable
    case EACCES, EPERM, EROFS: .notPermitted
    default: .failed
    }
  }
}
