import Foundation
internal import Glibc

/// A command as a user without rights, where the test runs as root: the servers of others need none.
///
/// ```swift
/// let command = UnprivilegedCommand("python3", ["-m", "http.server", "8000"])
/// let server = try ChildProcess(command.program, command.arguments)
/// ```
///
/// The command is left as it is where the test does not run as root, and where the user `nobody` cannot reach the program
/// or the folders, for example below a home folder.
public struct UnprivilegedCommand: Sendable, Hashable {
  /// The path or name of the program to start.
  public let program: String
  /// The arguments of the program to start.
  public let arguments: [String]

  /// Creates the command, and gives the folders to the user.
  /// - Parameters:
  ///   - program: The name or the absolute path of the program.
  ///   - arguments: The arguments after the program's name.
  ///   - folders: The folders that the program writes to, which exist; with everything in them.
  public init(_ program: String, _ arguments: [String], writing folders: [String] = []) {
    guard geteuid() == 0, let path = ChildProcess.path(of: program), let nobody = getpwnam("nobody")?.pointee else {
      self.program = program
      self.arguments = arguments
      return
    }
    let words = [
      "--reuid=\(nobody.pw_uid)", "--regid=\(nobody.pw_gid)", "--clear-groups", "--no-new-privs", "--inh-caps=-all",
      "--",
    ]
    for folder in folders { Self.give(folder, to: nobody) }
    let checks = ["-x", path] + folders.flatMap { ["-a", "-w", $0] }
    guard let check = try? ChildProcess("setpriv", words + ["test"] + checks, errors: .discarded), check.wait() == 0
    else {
      self.program = program
      self.arguments = arguments
      return
    }
    self.program = "setpriv"
    self.arguments = words + [path] + arguments
  }

  private static func give(_ folder: String, to user: passwd) {
    let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
    for path in [folder] + names.map({ "\(folder)/\($0)" }) { lchown(path, user.pw_uid, user.pw_gid) }
  }
}
