import Agent
import AudioIngest
import BlueZ
import Btsnoop
import EdgeCoder
import EdgeCoderHTTP
import ErrorReporting
import MessageSending
import SpeedTest
import Uploads

/// The advice that names commands and options of `edgeblue`.
///
/// The errors of libraries know neither; each gets the advice for its type and code in addition to its own hint.
enum Hints {
  /// Returns the advice for an error of a library; `nil` if there is none.
  static func hint(for error: any ReportableError) -> String? {
    switch error {
    case let error as AgentError: agent[error.code]
    // Its own hint is about one file, and says more.
    case let error as AudioIngestError where error.hint == nil: recordings[error.code]
    case let error as BlueZError: error.underlying?.code == .connectFailed ? noBus : bluez[error.code]
    case let error as BtsnoopError: btsnoop[error.code]
    case let error as CentralClientError: centralClient[error.code]
    case let error as EngineError: engine[error.code]
    case let error as InferenceError: inference[error.code]
    case let error as MessageSendingError: messages[error.code]
    case let error as SpeedTestError: error.isUntrusted ? certificate : speedTest[error.code]
    case let error as UploadsError: uploads[error.code]
    default: nil
    }
  }

  private static let noBus = "`edgeblue doctor` checks what is missing"

  private static let agent: [AgentError.Code: String] = [
    .alreadyRunning: "`edgeblue status` shows the running agent",
    .notRunning: "start it with `systemctl start edgeblue-agent`, or with `edgeblue agent`",
    .refused: "`edgeblue status` shows the time of the next attempt",
  ]

  private static let recordings: [AudioIngestError.Code: String] = [
    .damagedFile: "`edgeblue segments repair` names the corrupt files",
    .noSuchSegment: "`edgeblue segments list` shows what there is",
  ]

  private static let bluez: [BlueZError.Code: String] = [
    .noAdapter: "`edgeblue doctor` checks what is missing"
  ]

  private static let btsnoop: [BtsnoopError.Code: String] = [
    .notPermitted: "`sudo edgeblue capture …`, or once: `sudo setcap cap_net_raw+ep \"$(command -v edgeblue)\"`"
  ]

  private static let centralClient: [CentralClientError.Code: String] = [
    .unreachable: "--central-url names another one, and `edgeblue central` starts one here"
  ]

  private static let engine: [EngineError.Code: String] = [
    .unreachable: "--engine-url names another address"
  ]

  private static let inference: [InferenceError.Code: String] = [
    .noPhoneReady: "`edgeblue phone` starts a phone on another machine or adapter"
  ]

  private static let messages: [MessageSendingError.Code: String] = [
    .cannotUnlock: "`edgeblue messages setup --new-vault` replaces a vault whose passphrase is lost"
  ]

  private static let speedTest: [SpeedTestError.Code: String] = [
    .refused: "--key-file names the key that the server accepts",
    .termsNotAccepted: "--accept-terms accepts them",
    .connectionClosed: "a server of the type RMBThttp needs --http, and a server with TLS needs --tls",
  ]

  private static let certificate = "--ca names a certificate to trust"

  private static let uploads: [UploadsError.Code: String] = [
    .noSuchItem: "`edgeblue uploads list --all` lists the items",
    .untrusted: "--ca names a certificate to trust",
  ]
}

extension SpeedTestError {
  /// A Boolean value that indicates whether the server's certificate is not trusted.
  fileprivate var isUntrusted: Bool { code == .unreachable && message.contains("the certificate is not trusted") }
}
