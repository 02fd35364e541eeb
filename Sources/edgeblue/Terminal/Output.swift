import Glibc
import Streams

/// Writes to a terminal, a file or a pipe, and survives a reader that has closed the pipe.
///
/// Foundation's `FileHandle.write` traps when the reader has closed the pipe, as in `edgeblue doctor | head -3`.
enum Output {
  /// Ignores SIGPIPE, so that a write to a closed pipe returns an error instead of ending the program.
  static func ignoreBrokenPipes() {
    signal(SIGPIPE, SIG_IGN)
  }

  /// The error of the first write to standard output that failed, other than that of a reader that is gone.
  private static let problem = Lock<Int32?>(nil)

  /// The failure of a command whose output could not be written; `nil` if all of it was, or its reader is gone.
  static var failure: Failure? {
    problem.withLock { $0 }.map {
      Failure("the output cannot be written: \(String(cString: strerror($0)))", status: .outputFailed)
    }
  }

  /// Writes text without the C library's buffer, so that a reading program receives each line at once.
  ///
  /// A command whose standard output cannot be written fails at its end with ``failure``.
  /// - Returns: `false` if the text could not be written. Callers may ignore that: a role continues, a command ends by
  ///   itself.
  @discardableResult
  static func write(_ text: String, to descriptor: Int32 = STDOUT_FILENO) -> Bool {
    var text = text
    return text.withUTF8 { write(UnsafeRawBufferPointer($0), to: descriptor) }
  }

  /// Writes bytes in the same way.
  @discardableResult
  static func write(_ bytes: [UInt8], to descriptor: Int32 = STDOUT_FILENO) -> Bool {
    bytes.withUnsafeBytes { write($0, to: descriptor) }
  }

  private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
      if count > 0 {
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      } else if errno != EINTR {
        let number = errno
        // As in `edgeblue status | head -1`: the reader has what it wanted.
        if descriptor == STDOUT_FILENO, number != EPIPE { problem.withLock { $0 = $0 ?? number } }
        return false
      }
    }
    return true
  }
}
