public import BlueZ

/// An adapter of a ``FakeBlueZ``, from the side of the air and the hardware.
public struct FakeAdapter: Sendable {
  /// `hci1000` and so on: numbers that no real adapter has, so that nothing of this machine is mistaken for it.
  public let name: String
  /// Its address, by which the other adapters know it.
  public let address: BluetoothAddress
  let index: Int
  let daemon: Daemon
  let faults: Faults

  // MARK: Faults

  /// Makes a fault. Several last side by side.
  public func inject(_ fault: Fault) { faults.inject(fault) }

  /// Ends all faults of this adapter; notifications that stalled come now.
  public func repair() { faults.repair() }

  /// Pulls it out: its objects go, with its links, advertisements and services.
  /// - Throws: `DBusError` when the bus is gone.
  public func unplug() async throws { try await daemon.setPluggedIn(false, index) }

  /// Plugs it in again.
  /// - Throws: `DBusError` when the bus is gone.
  public func plugIn() async throws { try await daemon.setPluggedIn(true, index) }

  /// Switches it off, as a person would with `bluetoothctl power off`.
  public func switchOff() async { await daemon.setPowered(false, at: index) }

  /// Switches it on.
  public func switchOn() async { await daemon.setPowered(true, at: index) }

  /// Ends all of its links, as when the others go out of range.
  public func loseLinks() async { await daemon.loseLinks(index) }

  // MARK: Devices that are no adapters of the fake

  /// Has a device advertise here, once for each scan, until ``forget(_:)``. It cannot be connected to.
  /// - Parameters:
  ///   - address: the device's address.
  ///   - name: its name.
  ///   - services: the services it advertises.
  ///   - rssi: how strong it is heard, in dBm.
  public func hear(
    _ address: BluetoothAddress, name: String? = nil, services: [BluetoothUUID] = [], rssi: Int16 = -70
  ) async {
    await daemon.hear(address, name, services.map(\.description), rssi, at: index)
  }

  /// Has bluetoothd forget a device without a link, as it does 30 s after it was last heard.
  public func forget(_ address: BluetoothAddress) async { await daemon.forget(address, at: index) }
}

extension Daemon {
  func handles() -> [FakeAdapter] {
    adapters.map { FakeAdapter(name: $0.name, address: $0.address, index: $0.index, daemon: self, faults: $0.faults) }
  }

  func setPowered(_ on: Bool, at index: Int) { setPowered(on, adapters[index]) }

  func hear(_ address: BluetoothAddress, _ name: String?, _ services: [String], _ rssi: Int16, at index: Int) {
    var air = AirAdvertisement()
    air.name = name
    air.services = services
    air.isConnectable = false
    adapters[index].strangers[address] = (air, rssi)
    hear(stranger: address, at: adapters[index])
  }

  func forget(_ address: BluetoothAddress, at index: Int) {
    let adapter = adapters[index]
    adapter.strangers[address] = nil
    if let device = adapter.devices[address], device.link == nil { forget(device, at: adapter) }
  }
}
