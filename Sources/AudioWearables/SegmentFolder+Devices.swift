public import AudioIngest
internal import BlueZ

extension SegmentFolder {
  /// The largest size of the file of devices in bytes.
  private static let devicesLimit = 64 << 10

  /// Returns the device of a kind that was last recorded here without a given address.
  /// - Throws: `AudioIngestError` with code `.storage` or `.damagedFile`.
  func rememberedDevice(_ wearable: any Wearable) throws(AudioIngestError) -> BluetoothAddress? {
    try rememberedDevices()[wearable.audio.characteristic]
  }

  /// Stores the device of a kind, so that the next recorder connects to the same one.
  /// - Throws: `AudioIngestError`.
  func remember(_ address: BluetoothAddress, for wearable: any Wearable) throws(AudioIngestError) {
    try devices.withLock { _ throws(AudioIngestError) in
      var devices = try rememberedDevices()
      guard devices[wearable.audio.characteristic] != address else { return }
      devices[wearable.audio.characteristic] = address
      try write(devices)
    }
  }

  /// Removes the stored devices: the next recorder without an address connects to the first device it finds.
  /// - Throws: `AudioIngestError` with code `.storage`.
  public func forgetDevices() throws(AudioIngestError) {
    try storage(disk.remove(paths.devices))
  }

  private func rememberedDevices() throws(AudioIngestError) -> [BluetoothUUID: BluetoothAddress] {
    let text = String(decoding: try disk.contents(of: paths.devices, limit: Self.devicesLimit) ?? [], as: UTF8.self)
    let pairs = text.split(separator: "\n").compactMap { line -> (BluetoothUUID, BluetoothAddress)? in
      let words = line.split(separator: " ").map(String.init)
      guard words.count == 2, let uuid = BluetoothUUID(words[0]), let address = BluetoothAddress(words[1]) else {
        return nil
      }
      return (uuid, address)
    }
    return Dictionary(pairs) { $1 }
  }

  private func write(_ devices: [BluetoothUUID: BluetoothAddress]) throws(AudioIngestError) {
    let lines = devices.map { "\($0.key) \($0.value)\n" }.sorted().joined()
    try storage(disk.replace(paths.devices, with: Array(lines.utf8), by: paths.devices + ".new"))
  }
}
