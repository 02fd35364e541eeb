import BlueZ
import Logging

/// A session with bluetoothd, and an adapter that is powered on.
struct Radio: Sendable {
  let session: Session
  let adapter: Adapter
  let version: BlueZRelease?

  /// Opens the adapter, and powers it on if it is off and `switchingOn` permits it.
  /// - Throws: `BlueZError`.
  static func open(_ options: AdapterOptions, _ terminal: Terminal, switchingOn: Bool = true) async throws -> Radio {
    let session = try await Session.open()
    let adapter = try await session.adapter(options.adapter)
    let radio = Radio(session: session, adapter: adapter, version: await session.version())
    if !adapter.isPowered {
      guard switchingOn else { throw BlueZError.switchedOff(radio.name) }
      try await adapter.setPowered(true)
      terminal.whisper("\(radio.name) was powered off and is now on")
    }
    return radio
  }

  /// A Boolean value that indicates whether the controller is virtual, so that no radio reaches it.
  var isVirtual: Bool { VirtualController.isVirtual(name) }

  var name: String { adapter.name ?? adapter.address.description }

  /// The name of the adapter with the release of BlueZ: `hci0 (BlueZ 5.66)`.
  var title: String { name + (version.map { " (BlueZ \($0))" } ?? "") }
}

extension BlueZError {
  static func switchedOff(_ adapter: String) -> Self {
    Self(.notPowered, "\(adapter) was powered off", hint: "power it on: `bluetoothctl power on`")
  }
}
