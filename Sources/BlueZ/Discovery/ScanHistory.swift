import DBus

/// The results that one scan has delivered, by which new content is recognized.
struct ScanHistory: Sendable {
  private struct Entry {
    var device: Device
    /// The data of the last result; `nil` when the device was not received since.
    var data: AdvertisementData?
  }

  private var entries: [ObjectPath: Entry] = [:]

  /// The smallest change of the RSSI that counts as new, in dB; bluetoothd's own threshold (src/device.c,
  /// RSSI_THRESHOLD).
  static let leastRSSIChange = 8

  /// Records the data of a device.
  /// - Returns: `true` if it differs from the last result.
  mutating func recordIfNew(_ device: Device, _ data: AdvertisementData) -> Bool {
    let last = entries[device.path]?.data
    guard last.map({ Self.differs($0, data) }) ?? true else { return false }
    entries[device.path] = Entry(device: device, data: data)
    return true
  }

  /// Records that a device is no longer received, so that its next advertisement counts as new.
  mutating func fellSilent(_ path: ObjectPath) { entries[path]?.data = nil }

  /// Removes a device.
  /// - Returns: The device, if a result was delivered for it.
  mutating func remove(_ path: ObjectPath) -> Device? { entries.removeValue(forKey: path)?.device }

  /// Removes all devices, and returns them.
  mutating func removeAll() -> [Device] {
    defer { entries = [:] }
    return entries.values.map(\.device).sorted { $0.path < $1.path }
  }

  static func differs(_ a: AdvertisementData, _ b: AdvertisementData) -> Bool {
    var left = a
    var right = b
    left.rssi = nil
    right.rssi = nil
    guard left == right else { return true }
    guard let old = a.rssi, let new = b.rssi else { return a.rssi != b.rssi }
    return abs(new - old) >= leastRSSIChange
  }
}
