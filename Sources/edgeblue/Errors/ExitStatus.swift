import ArgumentParser

/// The exit statuses of the command, with the numbers of sysexits.h.
enum ExitStatus: Int32 {
  case badInput = 65
  case unavailable = 69
  case failed = 70
  case tryAgain = 75
  case notPermitted = 77
  case interrupted = 130

  var code: ExitCode { ExitCode(rawValue) }

  static let help = """
    0    done; also a role that was stopped with Ctrl-C or SIGTERM
      64   the command line is wrong
      65   the input is refused: a prompt or a text that is too large, a file of another kind
      69   something is missing: bluetoothd, an adapter, a phone or device, an engine, a default route,
           a file, room on the disk, a free port
      70   the phone or device reported a failure, or an internal error occurred
      75   temporary failure, a retry may succeed: connection lost, no reply in time, busy
      77   not permitted
      130  interrupted before the reply
    """
}
