import Foundation
internal import Glibc
internal import Streams

/// Copies of what the command `edgeblue` prints with `--json` in tests.
///
/// `scripts/check-json` compares them with the schemas in `docs/json`. The environment variable `EDGEBLUE_JSON_COPIES` names
/// the folder; without it nothing is copied.
enum OutputCopies {
  private static let folder = ProcessInfo.processInfo.environment["EDGEBLUE_JSON_COPIES"]

  /// Returns the words after the path of the command, which another program may run, if its output is copied.
  static func words(of program: String, _ arguments: [String]) -> [String]? {
    let words = [program] + arguments
    guard folder != nil, let name = words.firstIndex(where: { $0.hasSuffix("/edgeblue") }) else { return nil }
    let after = Array(words[(name + 1)...])
    // A script may take the path and numbers of its own.
    return after.first?.first?.isLetter == true && after.contains("--json") ? after : nil
  }

  /// Passes a program's output on, and copies it to a file of its own, whose first line has the words of the command.
  /// - Returns: The reading end, which ends when the program's output does.
  static func copy(_ output: FileDescriptor, of words: [String]) throws -> FileDescriptor {
    guard let folder else { return output }
    let path = "\(folder)/\(UUID().uuidString).jsonl"
    guard FileManager.default.createFile(atPath: path, contents: nil), let file = FileHandle(forWritingAtPath: path)
    else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: path]) }
    try file.write(contentsOf: JSONSerialization.data(withJSONObject: words) + [UInt8(ascii: "\n")])
    let (reading, writing) = try FileDescriptor.pipe()
    Thread.detachNewThread {
      // A test may close its end.
      var pipe = sigset_t()
      sigemptyset(&pipe)
      sigaddset(&pipe, SIGPIPE)
      pthread_sigmask(SIG_BLOCK, &pipe, nil)
      while case let bytes = read(output), !bytes.isEmpty {
        do { try file.write(contentsOf: bytes) } catch { print("\(path): \(error)") }
        guard pass(bytes, to: writing) else { break }
      }
      output.close()
      writing.close()
    }
    return reading
  }

  /// Returns `false` when nobody reads any more.
  private static func pass(_ bytes: [UInt8], to pipe: FileDescriptor) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = pipe.withNumber { number in rest.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) } }
      guard let count, count >= 0 || errno == EINTR else { return false }
      rest = rest.dropFirst(max(count, 0))
    }
    return true
  }
}
