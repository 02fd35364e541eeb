import Btsnoop
import Testing

@Suite("Btsnoop: recorded devices")
struct ReplayTests {
  private func recorded(_ talk: Conversation) throws -> RecordedDevice {
    var builder = RecordedDevice.Builder(Conversation.address)
    for record in talk.records { builder.add(record) }
    return try #require(builder.device)
  }

  /// A sensor that streams after a subscription.
  private func sensor() -> Conversation {
    var talk = Conversation()
    talk.event(
      0x3e, [0x02, 1, 0, 0] + Conversation.peer + [7, 2, 1, 6, 3, 3, 0x0d, 0x18, 0xc4])
    talk.event(0x3e, [0x02, 1, 4, 0] + Conversation.peer + [6, 5, 9, 0x4c, 0x61, 0x6d, 0x70, 0xc4])
    talk.connect()
    talk.attributes([0x02, 0x05, 0x02], [0x03, 0xb9, 0])
    talk.discover()
    talk.attributes([0x12, 13, 0, 1, 0], [0x13])
    for value: UInt8 in [70, 71] {
      talk.wait(1000)
      talk.send(L2CAPFrame.attributes, [0x1b, 12, 0, 0, value], fromHost: false)
    }
    return talk
  }

  @Test func `a device has its advertisement, MTU and attributes`() throws {
    let device = try recorded(sensor())
    #expect(device.advertisement.name == "Lamp")
    #expect(device.advertisement.services == [AttributeUUID(0x180d)])
    #expect(device.advertisement.flags == 6)
    #expect(device.isConnectable)
    #expect(device.rssi == -60)
    #expect(device.mtu == 185)
    #expect(device.table.characteristics.map(\.valueHandle) == [12])
  }

  @Test func `a recording of another device has none`() {
    var builder = RecordedDevice.Builder(DeviceAddress("11:11:11:11:11:11")!)
    for record in sensor().records { builder.add(record) }
    #expect(builder.device == nil)
  }

  @Test func `a stream begins with its subscription, with the times of the recording`() throws {
    var replay = DeviceReplay(try recorded(sensor()))
    let reaction = replay.subscribe(12)
    #expect(reaction.error == nil)
    #expect(reaction.sent.map(\.value) == [[0, 70], [0, 71]])
    #expect(reaction.sent.map(\.delay) == [1_002_000, 2_003_000])
    #expect(replay.subscribe(12) == reaction)
  }

  @Test func `a stream goes on while something is written`() throws {
    var talk = sensor()
    talk.attributes([0x12, 12, 0, 9], [0x13])
    talk.send(L2CAPFrame.attributes, [0x1b, 12, 0, 0, 72], fromHost: false)
    var replay = DeviceReplay(try recorded(talk))
    #expect(replay.subscribe(12).sent.map(\.value) == [[0, 70], [0, 71], [0, 72]])
  }

  @Test func `a stream that begins after a write to another service is one`() throws {
    var talk = Conversation()
    talk.connect()
    talk.discover()
    talk.attributes([0x10, 21, 0, 0xff, 0xff, 0, 0x28], [0x11, 6, 21, 0, 30, 0, 0x0f, 0x18])
    talk.attributes([0x12, 13, 0, 1, 0], [0x13])
    talk.attributes([0x12, 22, 0, 9], [0x13])
    talk.send(L2CAPFrame.attributes, [0x1b, 12, 0, 0, 70], fromHost: false)
    var replay = DeviceReplay(try recorded(talk))
    #expect(replay.write(22, [9]).sent.isEmpty)
    #expect(replay.subscribe(12).sent.map(\.value) == [[0, 70]])
  }

  @Test func `the only device of a file needs no address, and has its kind`() throws {
    var talk = sensor()
    let device = try RecordedDevice(recording: file(talk))
    #expect(device.address == Conversation.address)
    #expect(device.table.characteristics.map(\.valueHandle) == [12])
    #expect(try RecordedDevice(recording: Array(file(talk).dropLast(3))).table == device.table)

    let other: [UInt8] = [1, 2, 3, 4, 5, 0xc6]
    talk.connect(to: other, kind: 1)
    for chosen in [nil, DeviceAddress("11:11:11:11:11:11")] {
      let error = #expect(throws: BtsnoopError.self) { try RecordedDevice(recording: file(talk), of: chosen) }
      #expect(error?.code == .deviceNotFound)
    }
    let random = try RecordedDevice(recording: file(talk), of: DeviceAddress("C6:05:04:03:02:01"))
    #expect(random.address.kind == .random)
  }

  private func file(_ talk: Conversation) -> [UInt8] {
    let writer = BtsnoopWriter(.monitor)
    return writer.header + talk.records.flatMap { writer.bytes(of: $0) ?? [] }
  }

  @Test func `values that answer a write belong to it`() throws {
    var talk = Conversation()
    talk.connect()
    talk.discover()
    talk.attributes([0x12, 13, 0, 1, 0], [0x13])
    for request: UInt8 in [1, 2] {
      talk.attributes([0x52, 12, 0, request])
      talk.send(L2CAPFrame.attributes, [0x1b, 12, 0, request + 10], fromHost: false)
    }
    var replay = DeviceReplay(try recorded(talk))
    #expect(replay.subscribe(12).sent.isEmpty)
    #expect(replay.write(12, [2]).sent.map(\.value) == [[12]])
    #expect(replay.write(12, [1]).sent.map(\.value) == [[11]])
  }

  @Test func `what the recording does not show is refused`() throws {
    var replay = DeviceReplay(try recorded(sensor()))
    // The value can be notified, and nothing else.
    #expect(replay.read(12).error == .readNotPermitted)
    #expect(replay.write(12, [1]).error == .writeNotPermitted)
    #expect(replay.write(99, [1]).error == .writeNotPermitted)
    #expect(replay.subscribe(99).error == .writeNotPermitted)
    #expect(replay.read(13).error == .unlikely)
  }

  @Test func `answers come in order, and the last one again`() throws {
    var talk = Conversation()
    talk.connect()
    talk.attributes([0x0a, 3, 0], [0x0b, 1])
    talk.attributes([0x0a, 3, 0], [0x0b, 2, 2])
    talk.attributes([0x0c, 3, 0, 2, 0], [0x0d, 3])
    talk.attributes([0x0a, 4, 0], [0x01, 0x0a, 4, 0, 0x81])
    var replay = DeviceReplay(try recorded(talk))
    #expect((0..<3).map { _ in replay.read(3).value } == [[1], [2, 2, 3], [2, 2, 3]])
    #expect(replay.read(4).error?.rawValue == 0x81)
  }

  @Test func `an attribute that was readable once encrypted is protected`() throws {
    var talk = Conversation()
    talk.connect()
    talk.attributes([0x0a, 3, 0], [0x01, 0x0a, 3, 0, 0x0f])
    talk.event(0x08, [0, 1, 0, 1])
    talk.attributes([0x0a, 3, 0], [0x0b, 1])
    talk.attributes([0x12, 5, 0, 7], [0x01, 0x12, 5, 0, 0x05])
    talk.attributes([0x12, 5, 0, 7], [0x13])
    let device = try recorded(talk)
    #expect(device.protected == [3, 5])
    #expect(device.answers[3] == [.init([1])])
    #expect(device.reactions.filter { $0.cause != .connection } == [.init(.write(handle: 5, [7]))])
  }

  @Test func `a long write is one value`() throws {
    var talk = Conversation()
    talk.connect()
    talk.attributes([0x16, 5, 0, 0, 0, 1, 2], [0x17, 5, 0, 0, 0, 1, 2])
    talk.attributes([0x16, 5, 0, 2, 0, 3], [0x17, 5, 0, 2, 0, 3])
    talk.attributes([0x18, 1], [0x19])
    var replay = DeviceReplay(try recorded(talk))
    #expect(replay.write(5, [1, 2, 3]).error == nil)
  }
}
