import BlueZProfiles

extension Target {
  static let profiles = [
    Target("characteristic-values", seeds: values) { bytes in
      var input = Input(bytes)
      let number = UInt16(input.byte()) << 8 | UInt16(input.byte())
      let content = input.all()
      guard let type = CharacteristicValues.type(of: number) else { return }
      try read(type, content)
    },
    Target("beacons", seeds: beacons) { bytes in
      if let frame = try? EddystoneFrame(bytes: bytes) {
        require((try? EddystoneFrame(bytes: frame.bytes)) == frame, "another frame: \(frame)")
      }
      if let home = try? BTHomeAdvertisement(bytes: bytes) {
        require((try? BTHomeAdvertisement(bytes: home.bytes)) == home, "other readings: \(home)")
      }
      require(try IBeacon(bytes: bytes).bytes == bytes, "another iBeacon")
    },
  ]

  private static func read<Value: CharacteristicValue>(_: Value.Type, _ bytes: [UInt8]) throws {
    let value = try Value(bytes: bytes)
    require((try? Value(bytes: value.bytes)) == value, "another value: \(value)")
  }

  private static let date: [UInt8] = [0xea, 7, 11, 23, 15, 4, 9]
  /// The UUID of a characteristic, the most significant byte first, and a value of it.
  private static let values: [[UInt8]] = [
    [0x2a, 0x37, 0x1f, 44, 1, 9, 0, 0, 4], [0x2a, 0x2b] + date + [1, 128, 1],
    [0x2a, 0x1c, 6, 0x6e, 1, 0, 0xff] + date + [3],
    [0x2a, 0x35, 0x1e, 120, 0, 80, 0, 93, 0] + date + [60, 0, 1, 4, 0],
    [0x2a, 0x6e, 0xbb, 0xfe], [0x2a, 0x29] + Array("ACME".utf8), [0x2a, 0x04, 24, 0, 40, 0, 0, 0, 0xf4, 1],
    [0x2a, 0x5b, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [0x2a, 0x50, 1, 2, 3, 4, 5, 6, 7], [0x2a, 0x0f, 4, 0],
  ]
  private static let beacons: [[UInt8]] = [
    [2, 0x15] + Array(1...21), [0, 0xee] + Array(1...18), [0x10, 0xec, 3] + Array("example".utf8) + [0],
    [0x20, 0] + Array(1...12), [0x20, 1] + Array(1...16), [0x30, 0] + Array(1...8),
    [0x40, 2, 0xca, 9, 3, 0xbf, 0x13], [0x44, 0, 9, 0x3a, 1, 0x3c, 2, 3, 0x53, 1, 65, 0x54, 1, 0],
    [0x41] + Array(1...16),
  ]
}
