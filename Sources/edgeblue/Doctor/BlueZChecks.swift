import BlueZ
import DBus

/// What bluetoothd says over D-Bus.
struct BlueZChecks {
  /// The adapter to look at; without it, every one.
  let adapter: String?

  func findings() async -> [Finding] {
    let session: Session
    let restart: [Finding]
    do {
      let connection = try await Connection.open(.system)
      defer { connection.close() }
      restart = await RestartCheck.findings(on: connection)
      guard let service = try await service(on: connection) else {
        return [
          Finding("D-Bus", .ok, "the system bus answers"),
          Finding("bluetoothd", .fail, "it does not run", fix: "systemctl start bluetooth (package: bluez)"),
        ] + restart
      }
      guard service.level != .fail else { return [Finding("D-Bus", .ok, "the system bus answers"), service] }
      session = try await Session.open()
    } catch {
      return [
        Finding(
          "D-Bus", .fail, "the system bus cannot be reached: \(Failure(error).message)", fix: "systemctl start dbus")
      ]
    }
    defer { session.close() }
    return [Finding("D-Bus", .ok, "the system bus answers and its policy lets us talk to bluetoothd")]
      + (await version(session)) + restart + (await adapters(session))
  }

  /// Whether bluetoothd runs and the policy lets us ask it; `nil` when it does not run.
  private func service(on connection: Connection) async throws -> Finding? {
    guard try await connection.owner(of: "org.bluez") != nil else { return nil }
    do {
      _ = try await RemoteObject(connection, "org.bluez", .root).managedObjects()
      return Finding("D-Bus policy", .ok, "it lets us ask bluetoothd")
    } catch let error as DBusError where error.name == "org.freedesktop.DBus.Error.AccessDenied" {
      return Finding(
        "D-Bus policy", .fail, "it forbids us to ask bluetoothd",
        fix: "run as root, or join the group: usermod -aG bluetooth $USER, and log in again")
    }
  }

  private func version(_ session: Session) async -> [Finding] {
    guard let version = await session.version() else {
      return [Finding("bluetoothd", .warn, "it runs, but its version cannot be told from here")]
    }
    return [Finding("bluetoothd", .ok, "version \(version) runs")] + Self.capabilities(of: version)
  }

  /// What the release has, in one line, and what it lacks, in one line each. None of it stops anything.
  static func capabilities(of version: BlueZRelease) -> [Finding] {
    let all = BlueZRelease.Capability.all
    let present = all.filter(version.has).map(\.title).joined(separator: ", ")
    return [Finding("BlueZ \(version)", .ok, "has \(present)")]
      + all.filter { !version.has($0) }.map { missing in
        let since =
          missing.lostIn.map { "lost in \($0.lowerBound)–\($0.upperBound)" }
          ?? missing.since.map { "since \($0)" } ?? "in no release yet"
        return Finding("BlueZ \(version)", .ok, "lacks \(missing.title) (\(since)): \(missing.limitation)")
      }
  }

  private func adapters(_ session: Session) async -> [Finding] {
    let chosen: [Adapter]
    do {
      _ = try await session.adapter(adapter, timeout: .seconds(2))
      chosen = session.adapters.filter { found in
        adapter.map { $0 == found.name || BluetoothAddress($0) == found.address } ?? true
      }
    } catch {
      let failure = Failure(error)
      return [
        Finding(
          "adapter", .fail, failure.message,
          fix: adapter == nil
            ? "plug one in, or look for missing firmware: dmesg | grep -i bluetooth" : "choose one of these, or none")
      ]
    }
    return chosen.flatMap { found -> [Finding] in
      let name = found.name ?? found.address.description
      return [
        found.isPowered
          ? Finding(name, .ok, "\(found.address), switched on")
          : Finding(
            name, .warn, "\(found.address), switched off",
            fix: "edgeblue switches it on; by hand: bluetoothctl power on"),
        roles(found, name),
        access(found, name),
      ]
    }
  }

  /// Who may ask a phone at this adapter, and whether others can join them now.
  private func access(_ adapter: Adapter, _ name: String) -> Finding {
    let count = adapter.bondedDevices.count
    let paired = "\(count) \(count == 1 ? "device has" : "devices have") paired with it"
    guard adapter.isPairable else {
      return Finding(name, .ok, "\(paired); no other can now, `edgeblue pair` lets one")
    }
    return Finding(
      name, .warn, "\(paired), and others can now, if a program or a person agrees",
      fix: "where no pairing window is open: bluetoothctl pairable off")
  }

  private func roles(_ adapter: Adapter, _ name: String) -> Finding {
    let roles = adapter.roles
    let both = roles.contains(.centralAndPeripheral)
    guard both || roles.isSuperset(of: [.central, .peripheral]) else {
      let missing = roles.contains(.central) ? "a phone" : roles.contains(.peripheral) ? "a central" : "either role"
      return Finding(
        name, roles.isEmpty ? .fail : .warn, "it cannot be \(missing)", fix: "use another adapter (4.0 or later, LE)")
    }
    return Finding(
      name, .ok, "it can be phone and central" + (both ? " at once" : "; the kernel does not vouch for both at once"))
  }
}
