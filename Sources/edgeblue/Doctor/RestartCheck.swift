import DBus

/// Whether systemd starts bluetoothd again when it has crashed. Debian 12's unit does not say so.
enum RestartCheck {
  private static let systemd = "org.freedesktop.systemd1"
  private static let unit = "bluetooth.service"
  /// The values of `Restart=` that bring it back after a signal such as SIGSEGV (systemd.service(5)).
  private static let good: Set = ["always", "on-failure", "on-abnormal", "on-abort"]

  /// Nothing where there is no systemd, or where something else starts bluetoothd.
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
      return [Finding("systemd", .warn, "it does not say whether \(unit) restarts: \(Failure(error).message)")]
    }
  }

  private static func finding(_ restart: String) -> Finding {
    guard !good.contains(restart) else {
      return Finding("systemd", .ok, "\(unit) starts again after a crash (Restart=\(restart))")
    }
    return Finding(
      "systemd", .warn, "\(unit) does not start again after a crash (Restart=\(restart)): phones and links stay away",
      fix: "run `systemctl edit bluetooth`, and write two lines: [Service] and Restart=on-failure")
  }
}
