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
    var line: [UInt8] = []
    // One allocation, so that no copy stays behind.
    line.reserveCapacity(limit)
    try keys(after: question) { key in
      switch key {
      case 10, 13, 4: return false
      case 127, 8: _ = line.popLast()
      case 0x20... where line.count < limit: line.append(key)
      default: break
      }
      return true
    }
    Output.write("\n", to: number)
    return line
  }

  /// Asks, and calls a closure with each byte that the user types, without echo, until the closure returns `false`.
  /// - Throws: `CancellationError` for Ctrl-C or the end of the terminal.
  func keys(after question: String, _ body: (UInt8) throws -> Bool) throws {
    var before = termios()
    guard tcgetattr(number, &before) == 0 else {
      throw Failure("set the terminal: \(String(cString: strerror(errno)))", status: .unavailable)
    }
    var raw = before
    // Ctrl-C arrives as a byte, so that the terminal is restored before the program ends.
    raw.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG | IEXTEN)
    tcsetattr(number, TCSAFLUSH, &raw)
    defer { tcsetattr(number, TCSAFLUSH, &before) }
    // Not before the echo is off: whoever answers at once would see it, and lose what was typed until then.
    Output.write(question, to: number)
    var byte: UInt8 = 0
    while true {
      let count = read(number, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count == 1, byte != 3 else { throw CancellationError() }
      guard try body(byte) else { return }
    }
  }

  /// The descriptor, which stays open as long as this value.
  var number: Int32 { file.withNumber { $0 } ?? -1 }
}
