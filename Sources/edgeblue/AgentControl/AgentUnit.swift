import DBus
import Foundation

/// The installed service of the agent, as systemd knows it.
enum AgentUnit {
  static let name = "edgeblue-agent.service"
  /// The command that prints the newest lines of its journal.
  static let journalCommand = "journalctl -u edgeblue-agent -n 20 --no-pager"

  private static let manager = "org.freedesktop.systemd1"
  private static let interface = "org.freedesktop.systemd1.Manager"
  private static let timeout: Duration = .seconds(2)

  /// A Boolean value that indicates whether systemd runs the services of this host.
  static var isManaged: Bool { FileManager.default.fileExists(atPath: "/run/systemd/system") }

  /// Returns the failure of the service, which does not start again by itself; `nil` if it has not failed, or systemd
  /// does not say.
  static func failure(on bus: Connection.Bus) async -> Failure? {
    guard let properties = try? await properties(on: bus), properties["ActiveState"]?.string == "failed" else {
      return nil
    }
    let service = try? await self.properties(on: bus, of: "org.freedesktop.systemd1.Service")
    let status = service?["ExecMainStatus"]?.integer(as: Int32.self).flatMap(ExitStatus.init)
    let reason =
      switch status {
      case .badInput, .wrongUsage: "its settings are wrong"
      case .unavailable: "something that it needs is missing"
      default: "the journal has the reason"
      }
    return Failure("the service of the agent has failed: \(reason)", hint: journalCommand, status: .unavailable)
  }

  private static func properties(
    on bus: Connection.Bus, of kind: String = "org.freedesktop.systemd1.Unit"
  ) async throws -> [String: Value] {
    let connection = try await Connection.open(bus)
    // Where systemd is not on the bus, the call would have to wait for its start.
    guard try await connection.owner(of: manager) != nil else { return [:] }
    // Another agent than that of the service may run.
    guard try await connection.owner(of: "io.edgecoder.Agent1") == nil else { return [:] }
    let unit = try await connection.call(
      manager, "/org/freedesktop/systemd1", interface, "GetUnit", [.string(name)],
      options: .init(returning: "o", timeout: timeout))
    guard case .objectPath(let path) = unit[0] else { return [:] }
    return try await connection.call(
      manager, path, "org.freedesktop.DBus.Properties", "GetAll", [.string(kind)],
      options: .init(returning: "a{sv}", timeout: timeout))[0].properties ?? [:]
  }

  /// Starts the service again, and waits until it is ready.
  static func restart() async throws {
    for words in [["reset-failed", name], ["restart", name]] {
      let result = try await BoundedProgram(
        words: ["/usr/bin/systemctl"] + words, environment: ["PATH": "/usr/bin:/bin"], limit: .seconds(60)
      ).run()
      if words[0] == "restart", let problem = result.problem {
        throw Failure(
          "the service of the agent does not start: \(problem)", hint: journalCommand, status: .unavailable)
      }
    }
  }
}
