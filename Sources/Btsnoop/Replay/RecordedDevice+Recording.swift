extension RecordedDevice {
  /// Reads a device from a recording.
  /// - Parameters:
  ///   - bytes: The content of a btsnoop file; one that ends in the middle of a packet is read up to there.
  ///   - address: The address of the device, private or identity; `nil` for the only one that was connected.
  /// - Throws: ``BtsnoopError``, with the code `.deviceNotFound` when the recording does not show the device, or shows
  ///   connections with several where none is chosen.
  public init(recording bytes: [UInt8], of address: DeviceAddress? = nil) throws(BtsnoopError) {
    var reader = BtsnoopReader()
    reader.append(bytes)
    var records: [CaptureRecord] = []
    while let record = try reader.next() { records.append(record) }
    let chosen: DeviceAddress
    if let address { chosen = address } else { chosen = try Self.onlyPeer(in: records) }
    var builder = Builder(chosen)
    for record in records { builder.add(record) }
    guard let device = builder.device else {
      throw BtsnoopError(.deviceNotFound, "the recording does not show \(chosen)")
    }
    self = device
  }

  private static func onlyPeer(in records: [CaptureRecord]) throws(BtsnoopError) -> DeviceAddress {
    var decoder = TrafficDecoder()
    var peers: Set<DeviceAddress> = []
    for event in records.flatMap({ decoder.handle($0) }) {
      if case .connected = event.kind, let peer = event.link?.peer { peers.insert(peer) }
    }
    // One device may have used several private addresses before its identity was known.
    let devices = peers.count > 1 ? Set(peers.map { decoder.identity(of: $0) }) : peers
    guard let device = devices.first, devices.count == 1 else {
      throw BtsnoopError(
        .deviceNotFound, "the recording has connections with \(devices.count) devices; allowed without an address: 1")
    }
    return device
  }
}
