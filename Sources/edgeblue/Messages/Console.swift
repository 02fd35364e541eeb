import Foundation
import Streams

/// The controlling terminal, for questions whose answers do not come from standard input.
struct Console {
  private let file: FileDescriptor

  /// Opens the terminal.
  /// - Throws: ``Failure`` if the process has none.
  init() throws {
    let number = open("/dev/tty", O_RDWR | O_CLOEXEC)
    guard number >= 0 else {
      throw Failure(
        "there is no terminal to ask for the passphrase at", hint: "--passphrase-fd names a file descriptor",
        status: .unavailable)
    }
    file = FileDescriptor(owning: number)
  }

  /// Asks for a line that is not shown.
  /// - Returns: The line without its end, at most `limit` bytes; the caller overwrites it.
  func secretLine(_ question: String, limit: Int) throws -> [UInt8] {
    var line = TypedBytes(limit: limit)
    do { try type(into: &line, after: question) } catch {
      line.wipe()
      throw error
    }
    Output.write("\n", to: number)
    return line.bytes
  }

  private func type(into line: inout TypedBytes, after question: String) throws {
    try keys(after: question) { key in
      switch key {
      case 10, 13, 4: return false
      case 127, 8: line.removeLastCharacter()
      case 0x20...: line.append(key)
      default: break
      }
      return true
    }
  }

  /// Asks, and calls a closure with each byte that the user types, without echo, until the closure returns `false`.
  ///
  /// The closure gets no escape sequences, such as those of arrow keys. Ctrl-Z stops the program, which asks again when
  /// it is continued.
  /// - Throws: `CancellationError` for Ctrl-C, a signal that ends the program, or the end of the terminal.
  func keys(after question: String, _ body: (UInt8) throws -> Bool) throws {
    var before = termios()
    guard tcgetattr(number, &before) == 0 else {
      throw Failure("set the terminal: \(String(cString: strerror(errno)))", status: .unavailable)
    }
    var raw = before
    // Ctrl-C arrives as a byte, so that the terminal is restored before the program ends.
    raw.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG | IEXTEN)
    let signals = try TerminalSignals()
    tcsetattr(number, TCSAFLUSH, &raw)
    defer {
      tcsetattr(number, TCSAFLUSH, &before)
      withExtendedLifetime(signals) {}
    }
    // Not before the echo is off: whoever answers at once would see it, and lose what was typed until then.
    Output.write(question, to: number)
    var sequences = KeySequences()
    while true {
      guard let byte = try next(signals, isAfterEscape: sequences.isAfterEscape) else {
        sequences.reset()
        continue
      }
      if byte == 26 {
        tcsetattr(number, TCSAFLUSH, &before)
        TerminalSignals.stop()
        tcsetattr(number, TCSAFLUSH, &raw)
        Output.write("\n" + question, to: number)
      } else if sequences.isKey(byte) {
        guard try body(byte) else { return }
      }
    }
  }

  /// Waits for the next byte.
  /// - Returns: `nil` if nothing follows an Escape: the rest of a sequence arrives at once, the next key does not.
  private func next(_ signals: TerminalSignals, isAfterEscape: Bool) throws -> UInt8? {
    var waiting = [
      pollfd(fd: number, events: Int16(POLLIN), revents: 0),
      pollfd(fd: signals.number, events: Int16(POLLIN), revents: 0),
    ]
    var ready: Int32 = 0
    repeat { ready = poll(&waiting, 2, isAfterEscape ? 100 : -1) } while ready < 0 && errno == EINTR
    if ready == 0 { return nil }
    guard waiting[1].revents == 0 else { throw CancellationError() }
    var byte: UInt8 = 0
    var count = 0
    repeat { count = read(number, &byte, 1) } while count < 0 && errno == EINTR
    guard count == 1, byte != 3 else { throw CancellationError() }
    return byte
  }

  /// The number of columns of the terminal; `nil` if it does not report a size.
  var width: Int? {
    var size = winsize()
    return ioctl(number, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 1 ? Int(size.ws_col) : nil
  }

  /// The descriptor, which stays open as long as this value.
  var number: Int32 { file.withNumber { $0 } ?? -1 }
}
