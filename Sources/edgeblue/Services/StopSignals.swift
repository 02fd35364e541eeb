import Glibc
import UnixSignals

/// The signals that stop a command: Ctrl-C, SIGTERM, and the end of its terminal.
enum StopSignals {
  /// The signals, without SIGHUP where the program was started to outlive its terminal, as `nohup` does.
  static let all: [UnixSignal] = [.sigint, .sigterm] + (isIgnored(SIGHUP) ? [] : [.sighup])

  /// Returns `true` if the program that started this one has it ignore a signal.
  static func isIgnored(_ signal: Int32) -> Bool {
    var action = sigaction()
    guard sigaction(signal, nil, &action) == 0 else { return false }
    // SIG_IGN is the address 1.
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
  }
}
