import DBus
import Streams

/// Converts changes of the object cache, which all scans of the session share, to the results of one scan.
final class ScanFeed: Sendable {
  private let adapter: Adapter
  private let filter: Adapter.DiscoveryFilter
  private let source: BoundedStream<Adapter.ScanResult>.Source
  private let history = Lock(ScanHistory())
  private let discovery: DiscoveryRegistration

  init(
    adapter: Adapter, filter: Adapter.DiscoveryFilter, discovery: DiscoveryRegistration,
    source: BoundedStream<Adapter.ScanResult>.Source
  ) {
    self.adapter = adapter
    self.filter = filter
    self.discovery = discovery
    self.source = source
  }

  /// The properties of a device that change with an advertisement.
  private static let advertised: Set<String> = [
    "RSSI", "TxPower", "ManufacturerData", "ServiceData", "AdvertisingData", "AdvertisingFlags", "UUIDs", "Name",
    "Appearance",
  ]

  /// Handles a change of the cache; called on the bus's thread.
  func note(_ change: ObjectCache.Change) {
    switch change {
    case .added(let path, let interfaces) where interfaces.contains(Device.interface):
      see(path)
    case .changed(let path, Device.interface, let changed, let invalidated):
      if invalidated.contains("RSSI") { history.withLock { $0.fellSilent(path) } }
      if !Self.advertised.isDisjoint(with: changed.keys) { see(path, isHeard: changed["RSSI"] != nil) }
    case .removed(let path, let interfaces) where interfaces.contains(Device.interface):
      discovery.forget(path)
      if let device = history.withLock({ $0.remove(path) }) { lose(device) }
    case .serviceDown:
      for device in history.withLock({ $0.removeAll() }) { lose(device) }
    default: break
    }
  }

  /// Delivers the devices that are being received: they have an RSSI; the rest of the cache may be days old. A device
  /// that is linked may not advertise, and is present all the same.
  func showPresent() {
    for device in adapter.devices where device.property("RSSI") != nil || device.isConnected { see(device.path) }
  }

  /// - Parameter isHeard: `true` if the device advertised just now.
  private func see(_ path: ObjectPath, isHeard: Bool = false) {
    let device = Device(session: adapter.session, path: path)
    // By the device's own property: searching the adapter among all objects costs too much with many devices.
    guard let root = device.property("Adapter")?.objectPath,
      adapter.core.state.withLock({ $0.isObject(root, of: adapter.identity) })
    else { return }
    let data = device.advertisement
    let mayHaveForgotten = isHeard && isOnlyHeard(path, with: data)
    guard filter.matches(data, address: device.address, mayHaveForgotten: mayHaveForgotten) else { return }
    history.withLock { history in
      guard history.recordIfNew(device, data) || filter.duplicates else { return }
      source.yield(Adapter.ScanResult(device: device, advertisement: data))
    }
  }

  /// Decides about a device that lacks the services of the filter.
  ///
  /// A service that a device provides only at times may be missing in a list that was read. The device has it if it was
  /// received through bluetoothd's filter, which is certain only while nobody else scans; a connection shows the rest. That
  /// holds for a linked device, too: it may advertise a service that is no GATT service, as one that has only a channel.
  private func isOnlyHeard(_ device: ObjectPath, with data: AdvertisementData) -> Bool {
    guard !filter.services.isEmpty, filter.services.isDisjoint(with: data.services) else { return false }
    switch discovery.reception(for: filter.services) {
    case .unfiltered: return false
    case .filtered where data.servicesWereRead || discovery.isKnownToForget(device): return true
    case .filtered, .shared:
      // A list that was not read is that of the advertisement: the device was received for another program. But
      // BlueZ 5.82 may have read an empty one.
      discovery.doubt(device)
      return false
    }
  }

  private func lose(_ device: Device) { source.yield(Adapter.ScanResult(device: device, advertisement: nil)) }
}
