import BlueZ
import DBus
import EdgeCoder

/// The checks of bluetoothd and its adapters, over D-Bus.
struct BlueZChecks {
  /// The adapter to check; `nil` checks all adapters.
  let adapter: String?
  /// The bonds that the user made for EdgeBlue.
  let bonds: BondStore

  /// Returns the findings, and the release of bluetoothd, on which other checks depend; `nil` when it is unknown.
  func report() async -> (findings: [Finding], release: BlueZRelease?) {
    let session: Session
    let restart: [Finding]
    do {
      let connection = try await Connection.open(.system)
      defer { connection.close() }
      restart = await RestartCheck.findings(on: connection)
      guard let service = try await service(on: connection) else {
        let missing = Finding("bluetoothd", .fail, "not running", fix: "systemctl start bluetooth (package: bluez)")
        return ([Finding("D-Bus", .ok, "the system bus answers"), missing] + restart, nil)
      }
      guard service.level != .fail else { return ([Finding("D-Bus", .ok, "the system bus answers"), service], nil) }
      session = try await Session.open()
    } catch {
      let missing = Finding(
        "D-Bus", .fail, "the system bus cannot be reached: \(Failure(error).message)", fix: "systemctl start dbus")
      return ([missing], nil)
    }
    defer { session.close() }
    let release = await session.version()
    let bus = Finding("D-Bus", .ok, "the system bus answers, and its policy permits access to bluetoothd")
    return ([bus] + Self.version(release) + restart + (await adapters(session)), release)
  }

  /// Checks that the policy of the bus permits access to bluetoothd; returns `nil` if bluetoothd is not running.
  private func service(on connection: Connection) async throws -> Finding? {
    guard try await connection.owner(of: "org.bluez") != nil else { return nil }
    do {
      _ = try await RemoteObject(connection, "org.bluez", .root).managedObjects()
      return Finding("D-Bus policy", .ok, "access to bluetoothd is permitted")
    } catch let error as DBusError where error.name == "org.freedesktop.DBus.Error.AccessDenied" {
      return Finding(
        "D-Bus policy", .fail, "access to bluetoothd is denied",
        fix: "run as root, or join the group: usermod -aG bluetooth $USER, and log in again")
    }
  }

  private static func version(_ release: BlueZRelease?) -> [Finding] {
    guard let version = release else { return [Finding("bluetoothd", .warn, "running, version unknown")] }
    return [Finding("bluetoothd", .ok, "running, version \(version)")] + capabilities(of: version)
  }

  /// Returns one finding for the features of a release, and one for each feature that it lacks; none is an error. The
  /// lack by which any program on the host can crash bluetoothd is a warning.
  static func capabilities(of version: BlueZRelease) -> [Finding] {
    let all = BlueZRelease.Capability.all
    let present = all.filter(version.has).map(\.title).joined(separator: ", ")
    return [Finding("BlueZ \(version)", .ok, "has \(present)")]
      + all.filter { !version.has($0) }.map { finding(of: $0, missingIn: version) }
  }

  private static func finding(of missing: BlueZRelease.Capability, missingIn version: BlueZRelease) -> Finding {
    let since =
      missing.lostIn.map { "missing in \(text($0))" } ?? missing.since.map { "since \($0)" } ?? "in no release yet"
    let message = "lacks \(missing.title) (\(since)): \(missing.limitation)"
    guard missing == .filtersByService else { return Finding("BlueZ \(version)", .ok, message) }
    return Finding(
      "BlueZ \(version)", .warn, message,
      fix: "install another release of BlueZ; until then scan with no other program by service UUID")
  }

  private static func text(_ releases: ClosedRange<BlueZRelease>) -> String {
    switch releases.upperBound {
    case releases.lowerBound: "\(releases.lowerBound)"
    case .latest: "\(releases.lowerBound) and later"
    default: "\(releases.lowerBound)–\(releases.upperBound)"
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
            ? "plug one in, or look for missing firmware: dmesg | grep -i bluetooth"
            : "name one of these, or omit --adapter")
      ]
    }
    var findings: [Finding] = []
    for found in chosen {
      let name = found.name ?? found.address.description
      findings += [
        found.isPowered
          ? Finding(name, .ok, "\(found.address), powered on")
          : Finding(
            name, .warn, "\(found.address), powered off",
            fix: "edgeblue powers it on when needed; manually: bluetoothctl power on"),
        roles(found, name),
        access(found, name),
      ]
      findings += await settings(found, name)
      findings += Self.unused(found, name, bonds) + Self.weak(found, name)
    }
    return findings
  }

  /// Checks the settings that the kernel has of an adapter; a container has no access to them.
  private func settings(_ adapter: Adapter, _ name: String) async -> [Finding] {
    do {
      return Self.trust(try await adapter.settings(), name)
    } catch {
      return [Finding(name, .ok, "privacy and Secure Connections are unknown: \(Failure(error).message)")]
    }
  }

  /// Checks the settings on which the trust in an adapter's pairings and in its address depends.
  static func trust(_ settings: AdapterSettings, _ name: String) -> [Finding] {
    let address =
      settings.current.contains(.privacy)
      ? "privacy is on: the address changes, and bonded devices alone recognize the adapter"
      : "privacy is off: the adapter is recognized by its address, also by strangers"
    return [pairing(settings, name), Finding(name, .ok, address)]
      + (settings.current.contains(.debugKeys)
        ? [
          Finding(
            name, .warn, "accepts the published debug keys: pairings with them protect nothing",
            fix: "restart bluetoothd: systemctl restart bluetooth")
        ] : [])
  }

  private static func pairing(_ settings: AdapterSettings, _ name: String) -> Finding {
    guard settings.current.contains(.secureConnections) else {
      return Finding(
        name, .warn, "Secure Connections are off: whoever hears a pairing has its keys",
        fix: settings.supported.contains(.secureConnections)
          ? "remove SecureConnections = off from bluetoothd's settings, then: systemctl restart bluetooth"
          : "use another adapter (Bluetooth LE, 4.2 or later)")
    }
    return switch settings.requiresSecureConnections {
    case true?: Finding(name, .ok, "Secure Connections are required: no legacy pairing")
    case false?: Finding(name, .ok, "Secure Connections are on, and legacy pairing with peers that lack them")
    case nil: Finding(name, .ok, "Secure Connections are on; whether they are required only root can see")
    }
  }

  /// Checks the bonded devices of an adapter, and whether further devices can pair now.
  private func access(_ adapter: Adapter, _ name: String) -> Finding {
    let count = adapter.bondedDevices.count
    let bonded = "\(count) bonded \(count == 1 ? "device" : "devices")"
    guard adapter.isPairable else {
      return Finding(name, .ok, "\(bonded); no other can pair now, until `edgeblue pair`")
    }
    return Finding(
      name, .warn, "\(bonded); others can pair now, if a pairing agent accepts",
      fix: "unless a pairing window is open: bluetoothctl pairable off")
  }

  /// Checks that each bonded device was paired for EdgeBlue; others neither open a phone nor receive prompts.
  static func unused(_ adapter: Adapter, _ name: String, _ bonds: BondStore) -> [Finding] {
    do {
      let used = try bonds.bonds().filter { $0.adapter == adapter.address }.map(\.peer)
      return adapter.bondedDevices.filter { device in !used.contains { $0 == device.address } }.map { device in
        let address = device.address.map(\.description) ?? "ADDRESS"
        return Finding(
          name, .ok, "\(device.description.printable) is bonded, but not for EdgeBlue: it has no access",
          fix: "if you paired it for EdgeBlue: `edgeblue pair adopt \(address) --as central` (or phone); "
            + "if you do not know it: `edgeblue pair remove \(address)`")
      }
    } catch {
      return [
        Finding(
          name, .fail, "the list of bonds cannot be read: \(Failure(error).message)",
          fix: "remove the file, and pair again or adopt the bonds")
      ]
    }
  }

  /// Checks the keys of the bonded devices, which only root can read.
  /// - Parameter root: The root of the file system, which tests replace.
  static func weak(_ adapter: Adapter, _ name: String, root: String = "") -> [Finding] {
    adapter.bondedDevices.compactMap { device in
      guard let address = device.address,
        let warning = BondKey.read(address, at: adapter.address, root: root)?.warning
      else { return nil }
      return Finding(
        name, .warn, "\(device.description.printable) is \(warning)",
        fix: "`edgeblue pair remove \(address)`, and pair again with a device that has Bluetooth 4.2 or later")
    }
  }

  private func roles(_ adapter: Adapter, _ name: String) -> Finding {
    let roles = adapter.roles
    let both = roles.contains(.centralAndPeripheral)
    guard both || roles.isSuperset(of: [.central, .peripheral]) else {
      let missing = roles.contains(.central) ? "a phone" : roles.contains(.peripheral) ? "a central" : "either role"
      return Finding(
        name, roles.isEmpty ? .fail : .warn, "cannot be \(missing)",
        fix: "use another adapter (Bluetooth LE, 4.0 or later)")
    }
    return Finding(
      name, .ok, "can be phone and central" + (both ? " at once" : "; the kernel does not guarantee both at once"))
  }
}
