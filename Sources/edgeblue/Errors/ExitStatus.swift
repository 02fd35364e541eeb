import ArgumentParser

/// The exit statuses of the command, with the numbers of sysexits.h.
enum ExitStatus: Int32, CaseIterable {
  case done = 0
  case wrongUsage = 64
  case badInput = 65
  case unavailable = 69
  case failed = 70
  case outputFailed = 74
  case tryAgain = 75
  case notPermitted = 77
  case interrupted = 130

  var code: ExitCode { ExitCode(rawValue) }

  /// The meaning of the status, in lines of at most 90 columns, as `--help` and the documentation have it.
  var meaning: String {
    switch self {
    case .done: "done; also a role that was stopped with Ctrl-C, SIGTERM or SIGHUP"
    case .wrongUsage: "the command line is wrong"
    case .badInput:
      """
      the input is refused: a prompt or a text that is too large, an unknown recipient,
      a file of another kind, an unreadable passphrase
      """
    case .unavailable:
      """
      something is missing: bluetoothd, an adapter, a phone or device, an engine, a default route,
      a file, room on the disk, a free port
      """
    case .failed: "the phone or device reported a failure, or an internal error occurred"
    case .outputFailed: "the output cannot be written: the disk is full, or the terminal has failed"
    case .tryAgain: "temporary failure, a retry may succeed: connection lost, no reply in time, busy"
    case .notPermitted: "not permitted"
    case .interrupted: "interrupted before the reply"
    }
  }

  /// The table of `--help`.
  static let help = allCases.map { status in
    "\(status.rawValue)".padded(to: 5) + status.meaning.replacing("\n", with: "\n       ")
  }.joined(separator: "\n  ")
}
