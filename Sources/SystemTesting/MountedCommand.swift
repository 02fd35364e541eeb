internal import Glibc

/// A command that sees a folder of the test in the place of one of the host, where the test runs as root.
///
/// ```swift
/// let folder = "/tmp/certificates"
/// let command = MountedCommand("ls", ["/etc/ssl/certs"], seeing: folder, at: "/etc/ssl/certs")
/// let process = try ChildProcess(command.program, command.arguments)
/// ```
///
/// The mount is in a namespace that ends with the command; nothing else sees it.
package struct MountedCommand: Sendable, Hashable {
  /// A Boolean value that indicates whether the test may make such a namespace.
  package static var isPermitted: Bool {
    guard geteuid() == 0, let probe = try? ChildProcess("unshare", ["--mount", "true"], errors: .discarded) else {
      return false
    }
    return probe.wait() == 0
  }

  /// The name of the program to start.
  package let program = "unshare"
  /// The arguments of the program to start.
  package let arguments: [String]

  /// Creates the command.
  /// - Parameters:
  ///   - program: The absolute path of the program.
  ///   - arguments: The arguments after the program's name.
  ///   - folder: The folder that it sees.
  ///   - target: The folder of the host that is hidden by it.
  package init(_ program: String, _ arguments: [String], seeing folder: String, at target: String) {
    self.arguments =
      ["--mount", "sh", "-c", #"mount --bind "$0" "$1" && shift && exec "$@""#, folder, target, program] + arguments
  }
}
