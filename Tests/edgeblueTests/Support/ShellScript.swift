import Foundation

/// A shell script as a command for `--exec`.
///
/// The command names the shell, which reads the file: the kernel refuses to execute one (`ETXTBSY`) as long as a process
/// that another test starts at that moment still has the descriptor with which it was written.
struct ShellScript {
  let path: String

  var command: String { "/bin/sh \(path)" }

  /// Writes the script.
  init(_ text: String, at path: String) throws {
    self.path = path
    try Data("\(text)\n".utf8).write(to: URL(filePath: path))
  }
}
