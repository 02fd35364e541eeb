import DBus

/// The check that systemd restarts bluetoothd after a crash, which the unit of Debian 12 does not.
enum RestartCheck {
  private static let systemd = "org.freedesktop.systemd1"
  private static let unit = "bluetooth.service"
  /// The values of `Restart=` that restart it after a signal such as SIGSEGV (systemd.service(5)).
  private static let good: Set = ["always", "on-failure", "on-abnormal", "on-abort"]

  /// Returns no finding without systemd, or if systemd does not start bluetoothd.
  static func findings(on connection: Connection) async -> [Finding] {
    do {
      guard try await connection.owner(of: systemd) != nil else { return [] }
      let manager = RemoteObject(connection, systemd, "/org/freedesktop/systemd1")
      let loaded = try await manager.call(
        "\(systemd).Manager", "LoadUnit", .string(unit), returning: "o", timeout: .seconds(5))
      guard let path = loaded[0].objectPath else { return [] }
      let service = RemoteObject(connection, systemd, path)
      guard try await service.get("\(systemd).Unit", "LoadState").string == "loaded" else { return [] }
      return [finding(try await service.get("\(systemd).Service", "Restart").string ?? "no")]
    } catch {
      return [
        Finding("systemd", .warn, "cannot read whether \(unit) restarts after a crash: \(Failure(error).message)")
      ]
    }
  }

  private static func finding(_ restart: String) -> Finding {
    guard !good.contains(restart) else {
      return Finding("systemd", .ok, "\(unit) restarts after a crash (Restart=\(restart))")
    }
    return Finding(
      "systemd", .warn, "\(unit) does not restart after a crash (Restart=\(restart)): phones and connections stay down",
      fix: "run `systemctl edit bluetooth` and add two lines: [Service] and Restart=on-failure")
  }
}
