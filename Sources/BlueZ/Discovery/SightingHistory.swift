import DBus

/// What one scan has told so far, to tell what is new.
struct SightingHistory: Sendable {
  private struct Entry {
    var device: Device
    /// What was told last; `nil` when the device was silent since.
    var data: AdvertisementData?
  }

  private var entries: [ObjectPath: Entry] = [:]

  /// How much a strength must change to be news, in dB; bluetoothd's own threshold (src/device.c, RSSI_THRESHOLD).
  static let leastRSSIChange = 8

  /// Notes what is heard of a device.
  /// - Returns: whether it differs from what was told.
  mutating func isNews(_ device: Device, _ data: AdvertisementData) -> Bool {
    let last = entries[device.path]?.data
    guard last.map({ Self.differs($0, data) }) ?? true else { return false }
    entries[device.path] = Entry(device: device, data: data)
    return true
  }

  /// Notes that a device is not heard any more, so that hearing it again is news.
  mutating func fellSilent(_ path: ObjectPath) { entries[path]?.data = nil }

  /// Notes that a device is gone.
  /// - Returns: the device, if it was told of.
  mutating func remove(_ path: ObjectPath) -> Device? { entries.removeValue(forKey: path)?.device }

  /// Notes that all devices are gone.
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
