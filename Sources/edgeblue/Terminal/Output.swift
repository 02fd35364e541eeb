import Glibc

/// Writes to a terminal, a file or a pipe, and survives a reader that has closed the pipe.
///
/// Foundation's `FileHandle.write` traps when the reader has closed the pipe, as in `edgeblue doctor | head -3`.
enum Output {
  /// Ignores SIGPIPE, so that a write to a closed pipe returns an error instead of ending the program.
  static func ignoreBrokenPipes() {
    signal(SIGPIPE, SIG_IGN)
  }

  /// Writes text without the C library's buffer, so that a reading program receives each line at once.
  /// - Returns: `false` if the reader is gone. Callers may ignore that: a role continues, a command ends by itself.
  @discardableResult
  static func write(_ text: String, to descriptor: Int32 = STDOUT_FILENO) -> Bool {
    var text = text
    return text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while !rest.isEmpty {
        let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
        if count > 0 {
          rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        } else if errno != EINTR {
          return false
        }
      }
      return true
    }
  }
}
