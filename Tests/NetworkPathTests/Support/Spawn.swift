import Foundation

/// Runs a program to its end, as a child of this very thread, so that it runs in the thread's network namespace.
/// - Returns: its exit status, and all it printed.
func run(_ program: String, _ arguments: [String], input: String = "") throws -> (status: Int32, output: String) {
  let files = (input: tmpfile(), output: tmpfile())
  guard let given = files.input, let taken = files.output else { throw Namespace.Failure(description: "no file") }
  defer {
    fclose(given)
    fclose(taken)
  }
  fputs(input, given)
  rewind(given)
  var actions = posix_spawn_file_actions_t()
  posix_spawn_file_actions_init(&actions)
  defer { posix_spawn_file_actions_destroy(&actions) }
  posix_spawn_file_actions_adddup2(&actions, fileno(given), 0)
  posix_spawn_file_actions_adddup2(&actions, fileno(taken), 1)
  posix_spawn_file_actions_adddup2(&actions, fileno(taken), 2)
  var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
  defer { for word in words { free(word) } }
  var child = pid_t()
  let status = posix_spawn(&child, program, &actions, nil, &words, environ)
  guard status == 0 else { throw Namespace.Failure(description: "\(program): \(String(cString: strerror(status)))") }
  var result: Int32 = 0
  while waitpid(child, &result, 0) < 0, errno == EINTR {}
  rewind(taken)
  var output: [UInt8] = []
  var byte = fgetc(taken)
  while byte != EOF {
    output.append(UInt8(byte))
    byte = fgetc(taken)
  }
  return (result & 0x7f == 0 ? (result >> 8) & 0xff : -1, String(decoding: output, as: UTF8.self))
}
