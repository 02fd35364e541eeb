import BlueZ
import Logging

/// A session with bluetoothd and an adapter that is switched on.
struct Radio: Sendable {
  let session: Session
  let adapter: Adapter
  let version: BlueZRelease?

  /// Opens the adapter; one that is off is switched on, if that may be, and the person told.
  /// - Throws: `BlueZError`.
  static func open(_ options: AdapterOptions, _ terminal: Terminal, switchingOn: Bool = true) async throws -> Radio {
    let session = try await Session.open()
    let adapter = try await session.adapter(options.adapter)
    let radio = Radio(session: session, adapter: adapter, version: await session.version())
    if !adapter.isPowered {
      guard switchingOn else { throw BlueZError.switchedOff(radio.name) }
      try await adapter.setPowered(true)
      terminal.whisper("\(radio.name) was off and has been switched on")
    }
    return radio
  }

  /// Whether no radio reaches it.
  var isVirtual: Bool { VirtualController.isVirtual(name) }

  var name: String { adapter.name ?? adapter.address.description }

  /// `hci0 (BlueZ 5.66)`
  var title: String { name + (version.map { " (BlueZ \($0))" } ?? "") }
}

extension BlueZError {
  static func switchedOff(_ adapter: String) -> Self {
    Self(.notPowered, "somebody has switched off \(adapter)", hint: "switch it on: `bluetoothctl power on`")
  }
}
