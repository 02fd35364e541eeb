import BlueZ
import DBus
import Streams
import Timing

/// Connections to devices that bluetoothd does not know.
extension Daemon {
  /// The methods of `org.bluez.Adapter1` that need `bluetoothd -E`.
  nonisolated func experimentalMethods(_ index: Int) -> [Interface.Method] {
    guard configuration.connectsWithoutScan else { return [] }
    return [
      longMethod(
        "ConnectDevice", [.init("properties", "a{sv}")], out: [.init("device", "o")], of: index
      ) { daemon, call in
        try await daemon.connect(unseen: call.arguments[0].properties ?? [:], at: index)
      }
    ]
  }

  /// Waits until the device advertises, and connects. Nothing but the time limit ends the attempt.
  private func connect(unseen properties: [String: Value], at index: Int) async throws -> [Value] {
    let adapter = try powered(index)
    guard let shown = properties["Address"]?.string.flatMap(BluetoothAddress.init) else {
      throw DBusError.bluez("InvalidArguments", "Invalid arguments in method call")
    }
    let address = adapters.first { $0.privateAddress == shown }?.address ?? shown
    guard adapter.devices[address] == nil else { throw DBusError.alreadyExists }
    guard adapter.attempts.unseen[address] == nil else { throw DBusError.inProgress }
    let (turns, source) = BoundedStream.make(of: VirtualDevice.Attempt.self, limit: 4, policy: .dropNewest)
    adapter.attempts.unseen[address] = source
    let limit = configuration.connectTimeout
    let timer = Task {
      try await Task.sleep(for: limit, clock: .steady)
      source.yield(.giveUp)
    }
    defer {
      timer.cancel()
      adapter.attempts.unseen[address] = nil
    }
    source.yield(.tryAgain)
    for await turn in turns {
      if turn == .giveUp { break }
      if let device = link(ifNear: address, at: adapter) { return [.objectPath(device.object.path)] }
    }
    // As measured on 5.66.
    throw DBusError(name: "org.bluez.Failed", message: "")
  }
}
