import ArgumentParser

/// What a program that started us can tell from how we ended; the numbers are those of sysexits.h.
enum ExitStatus: Int32 {
  case badInput = 65
  case unavailable = 69
  case failed = 70
  case tryAgain = 75
  case notPermitted = 77
  case interrupted = 130

  var code: ExitCode { ExitCode(rawValue) }

  static let help = """
    0    done; also a role that was ended with Ctrl-C or SIGTERM
      64   the command line is wrong
      65   the prompt is too large
      69   something is missing: bluetoothd, an adapter, a phone or device, an engine, a way out
      70   the phone or device says that it failed, or a fault of this program
      75   not now, but trying again may help: link lost, no reply in time, busy
      77   not permitted
      130  interrupted before the answer
    """
}
