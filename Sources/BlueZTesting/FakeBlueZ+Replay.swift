public import BlueZ
public import Btsnoop
import DBus

extension FakeBlueZ {
  /// Puts a device into range that behaves as it did in a recording.
  ///
  /// It advertises, and answers as the recorded one: attributes with their handles, values, errors, and the values that
  /// it sent after a subscription or a write. What the recording does not show is refused; see `DeviceReplay`. It pairs
  /// by Just Works, and survives ``restart()``.
  ///
  /// ```swift
  /// import BlueZ
  /// import Btsnoop
  /// import Foundation
  ///
  /// let file = try Data(contentsOf: URL(filePath: "lamp.btsnoop"))
  /// let lab = try await FakeBlueZ.start(adapters: 1)
  /// let lamp = try await lab.replay(RecordedDevice(recording: Array(file)))
  /// let adapter = try await lab.adapter(0)
  /// let device = try await adapter.find(.init(services: ["180f"]))  // the code under test
  /// print(device, await lamp.unrecorded)
  /// ```
  /// - Parameters:
  ///   - device: The device, as `RecordedDevice` reads it from a file.
  ///   - pace: The factor for the times at which it sends values: 1 for those of the recording, 0 for at once.
  /// - Throws: `DBusError` when the bus is gone.
  @discardableResult
  public func replay(_ device: RecordedDevice, pace: Double = 0) async throws -> ReplayedDevice {
    let connection = try await Connection.open(bus)
    do {
      let program = try ReplayProgram(device, pace: max(pace, 0), on: connection)
      try await daemon.add(program)
      return ReplayedDevice(program, daemon)
    } catch {
      connection.close()
      throw error
    }
  }
}

/// A recorded device in the range of a ``FakeBlueZ``, see ``FakeBlueZ/replay(_:pace:)``.
public struct ReplayedDevice: Sendable {
  /// The address of the device.
  public let address: BluetoothAddress
  private let program: ReplayProgram
  private let daemon: Daemon

  init(_ program: ReplayProgram, _ daemon: Daemon) {
    address = program.address
    self.program = program
    self.daemon = daemon
  }

  /// The requests that were refused because the recording does not have them, in words; at most 1,000.
  public var unrecorded: [String] { get async { await program.player.unrecorded } }

  /// Takes the device out of range: its connections end by the supervision timeout.
  public func remove() async { await daemon.remove(program) }
}
