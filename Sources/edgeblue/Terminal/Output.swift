import Glibc

/// The way to a terminal, a file or a pipe, that survives a reader that has gone.
///
/// Foundation's `FileHandle.write` traps when the other end of a pipe is closed, as `edgeblue doctor | head -3` does.
enum Output {
  /// Keeps a closed pipe from ending the program; writes then report it.
  static func ignoreBrokenPipes() {
    signal(SIGPIPE, SIG_IGN)
  }

  /// Writes a text past the C library's buffer, so that a program at the other end reads a line when it is printed.
  /// - Returns: whether it was taken. Nobody is left to tell when it was not: a role goes on, a command ends by itself.
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
