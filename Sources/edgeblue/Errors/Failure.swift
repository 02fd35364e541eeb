import BlueZ
import ErrorReporting
import Glibc
import NIOCore

/// An error in the words that the command prints, with the exit status it ends with.
struct Failure: Error {
  var message: String
  var hint: String?
  var status: ExitStatus

  init(_ message: String, hint: String? = nil, status: ExitStatus) {
    self.message = message
    self.hint = hint
    self.status = status
  }

  init(_ error: any Error) {
    switch error {
    case let failure as Failure: self = failure
    case let error as any ReportableError: self.init(reporting: error)
    case let error as IOError where error.errnoCode == EADDRINUSE:
      self.init(
        "the port is in use", hint: "another central may run already; choose a port with --port", status: .unavailable)
    case is CancellationError: self.init("interrupted", status: .interrupted)
    default: self.init("\(error)", status: .failed)
    }
  }

  private init(reporting error: any ReportableError) {
    let cause = error.cause as? any ReportableError
    self.init(
      error.message + (cause.map { ": \($0.message)" } ?? ""), hint: error.hint, status: Self.status(of: error.category)
    )
    if let error = error as? BlueZError, error.underlying?.code == .connectFailed {
      hint = hint ?? "is D-Bus there? `systemctl start dbus`; `edgeblue doctor` looks at the rest"
    }
  }

  private static func status(of category: ErrorCategory) -> ExitStatus {
    switch category {
    case .invalidInput: .badInput
    case .notPermitted: .notPermitted
    case .unavailable: .unavailable
    case .temporary: .tryAgain
    case .failed: .failed
    }
  }
}
