import DBus
import Foundation
import Streams
import SystemTesting
import Timing

/// The systemd-logind of this machine, on a bus of its own and with nothing of the machine's: it sees an empty
/// `/run/systemd`, and what would put the machine to sleep is played by this object.
package final class RealLogind: Sendable {
  private static let program = ["/lib/systemd/systemd-logind", "/usr/lib/systemd/systemd-logind"]
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  /// Whether one can be started here.
  package static let isPermitted: Bool = {
    guard program != nil, geteuid() == 0 else { return false }
    return (try? ChildProcess("unshare", ["--mount", "true"], errors: .discarded).wait()) == 0
  }()

  private static let name = "org.freedesktop.login1"
  private static let systemd = "org.freedesktop.systemd1"
  private static let manager = "org.freedesktop.systemd1.Manager"

  package let bus: PrivateBus
  private let connection: Connection
  private let process: Lock<ChildProcess?>
  private let objects: [ExportedObject]
  /// The units that logind had started: to sleep.
  private let started: BoundedStream<String>

  package init() async throws {
    bus = try PrivateBus()
    connection = try await bus.connect()
    let (started, source) = BoundedStream.make(of: String.self, limit: 8)
    self.started = started
    objects = [
      try connection.export(
        "/org/freedesktop/systemd1",
        [
          Interface(
            Self.manager,
            methods: [
              .init("Subscribe") { _ in [] },
              .init("StartUnit", in: [.init("name", "s"), .init("mode", "s")], out: [.init("job", "o")]) { call in
                source.yield(call.arguments[0].string ?? "")
                return [.objectPath("/org/freedesktop/systemd1/job/1")]
              },
            ], signals: [.init("JobRemoved", [.init("i", "u"), .init("j", "o"), .init("u", "s"), .init("r", "s")])])
        ]),
      try connection.export(
        "/org/freedesktop/systemd1/unit/suspend_2etarget",
        [Interface("org.freedesktop.systemd1.Unit", properties: [.init("LoadState", "loaded")])]),
    ]
    _ = try await connection.requestName(Self.systemd)
    process = Lock(nil)
    try await start()
  }

  /// Starts it, and waits until it answers.
  package func start() async throws {
    let script = """
      mount -t tmpfs tmpfs /run/systemd
      mkdir /run/systemd/inhibit /run/systemd/seats /run/systemd/sessions /run/systemd/users
      mount -t tmpfs tmpfs /sys/power
      echo mem > /sys/power/state
      exec \(Self.program ?? "false")
      """
    let new = try ChildProcess(
      "unshare", ["--mount", "sh", "-ec", script], environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address],
      output: .discarded, errors: .discarded)
    process.withLock { $0 = new }
    while try await connection.owner(of: Self.name) == nil { try await Self.breathe() }
  }

  package func kill() { process.withLock { $0?.kill() } }

  /// Requests that the host sleeps, as for a user who closes the lid.
  package func suspend() async throws {
    _ = try await connection.call(
      Self.name, "/org/freedesktop/login1", "org.freedesktop.login1.Manager", "Suspend", [false],
      returning: "")
  }

  /// Waits until those delay sleep, and no others; each as what, who, why and how.
  package func until(_ inhibitors: [String]) async throws {
    while try await self.inhibitors() != inhibitors { try await Self.breathe() }
  }

  private static func breathe() async throws { try await Task.sleep(for: .milliseconds(1), clock: .steady) }

  /// Who delays sleep.
  package func inhibitors() async throws -> [String] {
    let reply = try await connection.call(
      Self.name, "/org/freedesktop/login1", "org.freedesktop.login1.Manager", "ListInhibitors")
    return (reply[0].array ?? []).compactMap { value in
      guard case .structure(let members) = value else { return nil }
      return members.prefix(4).compactMap(\.string).joined(separator: " ")
    }
  }

  /// The next unit that logind has started.
  package func nextUnit() async -> String? {
    var iterator = started.makeAsyncIterator()
    return await iterator.next()
  }

  /// The machine is awake again.
  package func wake() throws {
    try objects[0].emit(
      Self.manager, "JobRemoved",
      [.uint32(1), .objectPath("/org/freedesktop/systemd1/job/1"), "suspend.target", "done"])
  }
}
