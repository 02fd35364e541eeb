import Btsnoop

extension Target {
  static let recordings = [
    Target("btsnoop-file", seeds: files) { bytes in
      var reader = BtsnoopReader()
      var decoder = TrafficDecoder()
      var records: [CaptureRecord] = []
      reader.append(bytes)
      do throws(BtsnoopError) {
        while let record = try reader.next() {
          records.append(record)
          _ = decoder.handle(record)
        }
      } catch {
        require(error.category == .invalidInput, "another error: \(error)")
      }
      _ = decoder.finish(at: 0)
      // What was read is written as it was.
      guard let format = reader.format else { return }
      let writer = BtsnoopWriter(format)
      var again = BtsnoopReader()
      again.append(writer.header + records.flatMap { writer.bytes(of: $0) ?? [] })
      var copies: [CaptureRecord] = []
      while let record = try again.next() { copies.append(record) }
      require(copies == records, "other records")
    },
    Target("btsnoop-device", seeds: files) { bytes in
      // The recording of a device, and a client that asks for everything in it and for what it does not have.
      for address in [nil, DeviceAddress("00:AA:01:00:00:42")] {
        let device: RecordedDevice
        do { device = try RecordedDevice(recording: bytes, of: address) } catch { continue }
        var replay = DeviceReplay(device)
        for handle in device.table.characteristics.map(\.valueHandle) + [0, 12, 0xffff] {
          _ = replay.read(handle)
          _ = replay.subscribe(handle)
          _ = replay.write(handle, [1])
        }
        for case .write(let handle, let value) in device.reactions.map(\.cause) {
          require(device.reactions.contains(replay.write(handle, value)), "another reaction")
        }
      }
    },
    Target("btsnoop-packets", seeds: packets) { bytes in
      var input = Input(bytes)
      var decoder = TrafficDecoder()
      var plain = CaptureFilter(.init(device: DeviceAddress("00:AA:01:00:00:42"), masksPayloads: true))
      var filter = CaptureFilter()
      while !input.isEmpty {
        let kind = CaptureRecord.Kind(rawValue: UInt16(input.byte() % 20))
        let record = CaptureRecord(time: Int64(input.byte()), adapter: 0, kind: kind, bytes: input.piece())
        _ = decoder.handle(record)
        _ = plain.handle(record)
        if let kept = filter.handle(record) { require(kept.bytes.count <= record.bytes.count, "more bytes") }
      }
      _ = decoder.finish(at: 0)
      require(decoder.openLinks.count <= 64, "too many connections")
    },
  ]

  private static let peer: [UInt8] = [0x42, 0, 0, 1, 0xaa, 0]
  private static let connected: [UInt8] =
    [0x3e, 19, 0x01, 0, 1, 0, 0, 0] + peer + [40, 0, 0, 0, 42, 0, 0]
  private static let attribute: [[UInt8]] = [
    [0x02, 5, 2], [0x03, 185, 0], [0x10, 1, 0, 255, 255, 0, 0x28], [0x11, 6, 10, 0, 20, 0, 13, 0x18],
    [0x08, 10, 0, 20, 0, 3, 0x28], [0x09, 7, 11, 0, 16, 12, 0, 0x37, 0x2a], [0x04, 13, 0, 20, 0],
    [0x05, 1, 13, 0, 2, 0x29], [0x12, 13, 0, 1, 0], [0x13], [0x1b, 12, 0, 1, 72], [0x0a, 12, 0], [0x0b, 9],
    [0x01, 0x0a, 12, 0, 15], [0x23, 12, 0, 1, 0, 5],
  ]

  private static func data(_ channel: UInt8, _ payload: [UInt8]) -> [UInt8] {
    let count = UInt8(payload.count)
    return [1, 0, count + 4, 0, count, 0, channel, 0] + payload
  }

  private static let talk: [(kind: UInt8, bytes: [UInt8])] =
    [(3, connected)]
    + attribute.enumerated().map { (kind: $0.offset % 2 == 0 ? 4 : 5, bytes: data(4, $0.element)) } + [
      (4, data(5, [0x14, 7, 10, 0, 128, 0, 64, 0, 100, 0, 50, 0, 10, 0])),
      (5, data(5, [0x15, 7, 10, 0, 80, 0, 200, 0, 60, 0, 10, 0, 0, 0])), (4, data(80, [3, 0, 1, 2, 3])),
      (5, data(6, [6] + Array(0..<16))), (5, data(6, [9, 0] + peer)),
      (3, [0x3e, 16, 2, 1, 0, 0] + peer + [4, 3, 3, 13, 0x18, 0xc4]), (2, [0x08, 0x20, 4, 3, 2, 1, 6]),
      (3, [5, 4, 0, 1, 0, 0x13]),
    ]

  private static let packets: [[UInt8]] = [
    talk.flatMap { [$0.kind, 1, UInt8($0.bytes.count)] + $0.bytes },
    talk.prefix(3).flatMap { [$0.kind, 1, UInt8($0.bytes.count)] + $0.bytes },
  ]

  private static let files: [[UInt8]] = BtsnoopFormat.allCases.map { format in
    let writer = BtsnoopWriter(format)
    let records = talk.map {
      CaptureRecord(time: 0, adapter: 0, kind: .init(rawValue: UInt16($0.kind)), bytes: $0.bytes)
    }
    return writer.header + records.flatMap { writer.bytes(of: $0) ?? [] }
  }
}
