internal import BlueZ

extension SegmentFolder {
  /// More than anybody wears.
  private static let devicesLimit = 64 << 10

  /// The device of a kind that was recorded here last, without having been named.
  /// - Throws: ``AudioIngestError`` with code `.storage` or `.damagedFile`.
  func rememberedDevice(_ wearable: any Wearable) throws(AudioIngestError) -> BluetoothAddress? {
    try rememberedDevices()[wearable.audio.characteristic]
  }

  /// Remembers the device of a kind, so that the next recorder comes to it again and not to its neighbour.
  /// - Throws: ``AudioIngestError``.
  func remember(_ address: BluetoothAddress, for wearable: any Wearable) throws(AudioIngestError) {
    try devices.withLock { _ throws(AudioIngestError) in
      var devices = try rememberedDevices()
      guard devices[wearable.audio.characteristic] != address else { return }
      devices[wearable.audio.characteristic] = address
      try keep(devices)
    }
  }

  /// Forgets which devices were recorded here: the next recorder that is not told takes the first it finds.
  /// - Throws: ``AudioIngestError`` with code `.storage`.
  public func forgetDevices() throws(AudioIngestError) { try disk.remove(paths.devices) }

  private func rememberedDevices() throws(AudioIngestError) -> [BluetoothUUID: BluetoothAddress] {
    let text = String(decoding: try disk.read(paths.devices, limit: Self.devicesLimit) ?? [], as: UTF8.self)
    let pairs = text.split(separator: "\n").compactMap { line -> (BluetoothUUID, BluetoothAddress)? in
      let words = line.split(separator: " ").map(String.init)
      guard words.count == 2, let uuid = BluetoothUUID(words[0]), let address = BluetoothAddress(words[1]) else {
        return nil
      }
      return (uuid, address)
    }
    return Dictionary(pairs) { $1 }
  }

  private func keep(_ devices: [BluetoothUUID: BluetoothAddress]) throws(AudioIngestError) {
    let lines = devices.map { "\($0.key) \($0.value)\n" }.sorted().joined()
    try disk.replace(paths.devices, with: Array(lines.utf8), by: paths.devices + ".new")
  }
}
