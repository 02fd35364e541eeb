public import DBus
public import Foundation
internal import SystemTesting

/// A private message bus for one test, without foreign names, policies or load.
///
/// The bus needs the program `dbus-daemon` (Debian's package of the same name) and ends with this object.
public final class PrivateBus: Sendable {
  /// The D-Bus address of the bus.
  public let address: String
  private let daemon: ChildProcess
  private let folder: URL

  /// Starts the daemon and waits until it answers.
  /// - Parameters:
  ///   - limits: limits of the daemon's configuration, by name, such as `max_match_rules_per_connection`.
  ///   - policies: configuration files that say who may do what; all else is then forbidden, as on a system bus.
  ///     Without any, everybody may do everything.
  /// - Throws: `MissingProgram`; the errors of the file system.
  public init(limits: [String: Int] = [:], policies: [URL] = []) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "edgeblue-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    self.folder = folder
    address = "unix:path=\(folder.path)/bus"
    let lines =
      limits.map { "<limit name=\"\($0.key)\">\($0.value)</limit>" } + policies.map { "<include>\($0.path)</include>" }
    let rules =
      policies.isEmpty
      ? ["<allow send_destination=\"*\"/>", "<allow receive_sender=\"*\"/>", "<allow own=\"*\"/>"]
      : [
        "<deny own=\"*\"/>", "<deny send_type=\"method_call\"/>", "<allow user=\"*\"/>",
        "<allow send_type=\"signal\"/>", "<allow send_requested_reply=\"true\" send_type=\"method_return\"/>",
        "<allow send_requested_reply=\"true\" send_type=\"error\"/>", "<allow receive_sender=\"*\"/>",
        "<allow send_destination=\"org.freedesktop.DBus\"/>",
      ]
    let configuration = """
      <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
       "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
      <busconfig>
        <type>session</type>
        <listen>\(address)</listen>
        <auth>EXTERNAL</auth>
        <policy context="default">
          \(rules.joined(separator: "\n"))
        </policy>
        \(lines.joined(separator: "\n"))
      </busconfig>
      """
    let file = folder.appending(path: "bus.conf")
    try Data(configuration.utf8).write(to: file)
    daemon = try ChildProcess("dbus-daemon", ["--config-file=\(file.path)", "--nofork", "--print-address=1"])
    _ = try daemon.firstLine()
  }

  deinit {
    daemon.kill()
    // A folder left in the temporary directory does no harm.
    try? FileManager.default.removeItem(at: folder)
  }

  /// Ends the daemon the hard way, as a crash would.
  public func kill() { daemon.kill() }

  /// A new connection to this bus.
  /// - Throws: `DBusError`.
  public func connect() async throws -> Connection { try await .open(.address(address)) }
}
