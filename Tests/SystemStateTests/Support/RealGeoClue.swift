import DBus
import DBusTesting
import Foundation
import Streams
import SystemTesting
import Timing

/// The GeoClue of this machine, on a bus of its own, with a configuration that knows one locator: a server of the test.
final class RealGeoClue: Sendable {
  /// The program, beside a folder of those that are found by their name.
  private static let program: String? = {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return folders.map { "\($0)/../libexec/geoclue" }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }()
  private static let name = "org.freedesktop.GeoClue2"

  /// A Boolean value that indicates whether one can be started here.
  static let isPermitted: Bool = {
    guard program != nil, geteuid() == 0 else { return false }
    let mount = ["mount", "-t", "overlay", "overlay", "-o", "lowerdir=/tmp:/etc", "/etc"]
    return (try? ChildProcess("unshare", ["--mount"] + mount, errors: .discarded).wait()) == 0
  }()

  let bus: PrivateBus
  private let connection: Connection
  private let folder = FileManager.default.temporaryDirectory.appending(path: "geoclue-\(UUID().uuidString)").path
  private let process: ChildProcess
  private let agents = Lock<[ExportedObject]>([])

  /// Starts GeoClue, and waits until it is on the bus.
  /// - Parameter port: The port of the locator on 127.0.0.1.
  init(locator port: Int) async throws {
    bus = try PrivateBus()
    connection = try await bus.connect()
    try FileManager.default.createDirectory(atPath: folder + "/geoclue", withIntermediateDirectories: true)
    let off = ["network-nmea", "3g", "cdma", "modem-gps"].map { "[\($0)]\nenable=false\n" }.joined()
    let configuration = """
      [agent]
      whitelist=edgeblue-test
      \(off)[wifi]
      enable=true
      url=http://127.0.0.1:\(port)/locate
      submit-data=false
      [edgeblue]
      allowed=true
      system=true
      users=
      """
    try Data(configuration.utf8).write(to: URL(filePath: folder + "/geoclue/geoclue.conf"))
    let script = "mount -t overlay overlay -o lowerdir=\"$1\":/etc /etc; exec \"$2\" -t 600"
    process = try ChildProcess(
      "unshare", ["--mount", "sh", "-ec", script, "sh", folder, Self.program ?? "false"],
      environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address], output: .discarded, errors: .discarded)
    while try await connection.owner(of: Self.name) == nil {
      try await Task.sleep(for: .milliseconds(1), clock: .steady)
    }
  }

  deinit {
    process.kill()
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// Registers an agent for the user of this process, as a desktop has one.
  func addAgent() async throws {
    let agent = Interface(
      "org.freedesktop.GeoClue2.Agent",
      methods: [
        .init(
          "AuthorizeApp", in: [.init("desktop_id", "s"), .init("req_accuracy_level", "u")],
          out: [.init("authorized", "b"), .init("allowed_accuracy_level", "u")]
        ) { _ in [true, .uint32(8)] }
      ], properties: [.init("MaxAccuracyLevel", .uint32(8))])
    let object = try connection.export("/org/freedesktop/GeoClue2/Agent", [agent])
    agents.withLock { $0.append(object) }
    _ = try await connection.call(
      Self.name, "/org/freedesktop/GeoClue2/Manager", "org.freedesktop.GeoClue2.Manager", "AddAgent",
      ["edgeblue-test"], returning: "")
  }
}
