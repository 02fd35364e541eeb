import Agent
import AudioIngest
import BlueZ
import DBus
import EdgeCoder
import EdgeCoderHTTP
import Glibc
import NIOCore
import NetworkPath
import SystemState
import Uploads

/// An error as a person at a terminal is told of it.
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
    case let error as BlueZError:
      self.init(error.message, hint: error.hint, status: Self.status(of: error.code))
      if let underlying = error.underlying { message += ": \(underlying.message)" }
      if error.underlying?.code == .connectFailed {
        status = .unavailable
        hint = hint ?? "is D-Bus there? `systemctl start dbus`; `edgeblue doctor` looks at the rest"
      }
    case let error as DBusError: self.init(error.message, hint: error.hint, status: .unavailable)
    case let error as NetworkPathError: self.init(error.message, hint: error.hint, status: .unavailable)
    case let error as AgentError: self.init(error.message, hint: error.hint, status: Self.status(of: error.code))
    case let error as AudioIngestError: self.init(error.message, hint: error.hint, status: Self.status(of: error.code))
    case let error as UploadsError: self.init(error.message, hint: error.hint, status: Self.status(of: error.code))
    case let error as PowerError: self.init(error.message, hint: error.hint, status: .badInput)
    case let error as EngineError: self.init(error.message, hint: error.hint, status: .unavailable)
    case let error as InferenceError:
      self.init(error.message, hint: error.hint, status: Self.status(of: error.code))
    case let error as CentralClientError:
      self.init(
        error.message, hint: error.hint,
        status: error.code == .timedOut ? .tryAgain : error.code == .refused ? .badInput : .unavailable)
    case let error as IOError where error.errnoCode == EADDRINUSE:
      self.init(
        "the port is in use", hint: "another central may run already; choose a port with --port", status: .unavailable)
    case is CancellationError: self.init("interrupted", status: .interrupted)
    default: self.init("\(error)", status: .failed)
    }
  }

  private static func status(of code: AgentError.Code) -> ExitStatus {
    switch code {
    case .invalidArgument: .badInput
    case .notPermitted: .notPermitted
    case .notNow: .tryAgain
    case .serviceHangs, .inputEnded, .busLost: .failed
    default: .unavailable
    }
  }

  private static func status(of code: AudioIngestError.Code) -> ExitStatus {
    switch code {
    case .invalidArgument, .noSuchSegment: .badInput
    case .busy, .timedOut: .tryAgain
    case .noSpace: .unavailable
    default: .failed
    }
  }

  private static func status(of code: UploadsError.Code) -> ExitStatus {
    switch code {
    case .invalidArgument, .fileMissing, .fileChanged, .noSuchItem, .alreadyExists: .badInput
    case .badCredentials, .forbidden: .notPermitted
    case .busy, .interrupted, .notNow: .tryAgain
    case .refused, .corrupted: .failed
    default: .unavailable
    }
  }

  private static func status(of code: BlueZError.Code) -> ExitStatus {
    switch code {
    case .notPermitted: .notPermitted
    case .timedOut, .connectFailed, .notConnected, .inProgress, .staleHandle: .tryAgain
    case .invalidArgument, .advertisementTooLong: .badInput
    case .attributeError, .failed: .failed
    default: .unavailable
    }
  }

  private static func status(of code: InferenceError.Code) -> ExitStatus {
    switch code {
    case .noPhoneReady: .unavailable
    case .requestTooLarge: .badInput
    default: .tryAgain
    }
  }
}
