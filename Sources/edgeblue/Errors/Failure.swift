import ArgumentParser
import AudioIngest
import DurableFiles
import EdgeCoder
import ErrorReporting
import Foundation
import Glibc
import MessageSending
import NIOCore

/// A failure of a command: the message that it prints, a hint, and its exit status.
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
        "the port is in use", hint: "another program has it; --port or --metrics-port selects another one",
        status: .unavailable)
    case is CancellationError: self.init("interrupted", status: .interrupted)
    case let error as ValidationError: self.init(error.message, status: .badInput)
    // These name a call or a file, and the system's reason.
    case let error as IOError: self.init("\(error)", status: .failed)
    case is CocoaError, is POSIXError: self.init(error.localizedDescription, status: .failed)
    default: self.init(error.safeText, status: .failed)
    }
  }

  /// Creates the failure of a prompt that a phone refused; the reason is in brackets in JSON alone.
  init(_ refusal: Answer.Refusal, by phone: String) {
    let reason = refusal.reason.isEmpty ? "no reason given" : refusal.reason.printable
    self.init(
      "\(phone.isEmpty ? "the phone" : phone.printable) could not answer: \(reason)",
      hint: "the log of the phone has more", status: .failed)
  }

  private init(reporting error: any ReportableError) {
    let cause = error.cause as? any ReportableError
    self.init(
      error.message + (cause.map { ": \($0.message)" } ?? ""), hint: Self.hint(for: error),
      status: Self.status(of: Self.category(of: error)))
  }

  /// The advice of the library, and what the command can add to it.
  private static func hint(for error: any ReportableError) -> String? {
    let hints = [error.hint, Hints.hint(for: error)].compactMap(\.self)
    return hints.isEmpty ? nil : hints.joined(separator: "; ")
  }

  /// The category of an error; of a file of messages or recordings, what the system's reason says.
  private static func category(of error: any ReportableError) -> ErrorCategory {
    let number =
      switch error {
      case let error as MessageSendingError where error.code == .storage: error.errno
      case let error as AudioIngestError where error.code == .storage: error.errno
      default: Int32?.none
      }
    return number.map { FileError(error.message, errno: $0).category } ?? error.category
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
