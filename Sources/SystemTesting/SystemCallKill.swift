/// A system call at which a process is killed with SIGKILL, by strace.
///
/// What a program has made durable by then must be complete, whatever it was doing:
///
/// ```swift
/// let kill = SystemCallKill(at: "fdatasync", number: 2)
/// let process = try ChildProcess("strace", kill.arguments + ["/usr/bin/my-writer", "file"])
/// let wasKilled = await process.outcome().status == -1
/// ```
package struct SystemCallKill: Sendable, Hashable {
  /// A Boolean value that says whether strace is there, and this process may trace others.
  package static let isPossible: Bool = {
    guard ChildProcess.path(of: "strace") != nil else { return false }
    do {
      return try ChildProcess("strace", ["-D", "-f", "-o", "/dev/null", "true"], errors: .discarded).wait() == 0
    } catch {
      return false
    }
  }()

  /// The name of the system call, as strace knows it.
  package let call: String
  /// The number of the call at which the process is killed, counted for each of its threads from 1 on.
  package let number: Int

  /// Creates a kill at a call. A process that makes the call less often is not killed.
  package init(at call: String, number: Int) {
    self.call = call
    self.number = number
  }

  /// The arguments of strace before the command to run. The process is that of the command, and strace is a child of it.
  package var arguments: [String] {
    // strace 6.1 does not count the calls with --seccomp-bpf, which would be faster.
    ["-D", "-f", "-o", "/dev/null", "-e", "trace=\(call)", "-e", "inject=\(call):signal=KILL:when=\(number)"]
  }
}
