import Btsnoop
import Testing

@Suite("Btsnoop: what happened")
struct TrafficTests {
  @Test func `a connection has its parameters, its MTU and the reason of its end`() {
    var talk = Conversation()
    talk.connect()
    talk.attributes([0x02, 0x05, 0x02], [0x03, 0xb9, 0])
    talk.event(0x3e, [0x03, 0, 1, 0, 6, 0, 0, 0, 200, 0])
    talk.event(0x3e, [0x0c, 0, 1, 0, 2, 2])
    talk.event(0x3e, [0x07, 1, 0, 251, 0, 72, 8, 251, 0, 72, 8])
    talk.event(0x0e, [1, 0x05, 0x14, 0, 1, 0, 0xc4])
    talk.disconnect(0x08)
    let events = talk.events
    #expect(events.allSatisfy { $0.link?.number == 1 })
    #expect(events.allSatisfy { $0.link?.peer == Conversation.address })
    guard case .connected(let connection)? = events.first?.kind else {
      Issue.record("no connection")
      return
    }
    #expect(connection.isCentral)
    #expect(connection.timing.interval == 50)
    #expect(
      events.dropFirst().map(\.kind) == [
        .mtu(185), .timingChanged(.success, LinkTiming(intervalUnits: 6, latency: 0, timeoutUnits: 200)),
        .phyChanged(transmit: 2, receive: 2), .dataLengthChanged(transmit: 251, receive: 251), .rssi(-60),
        .disconnected(.supervisionTimeout),
      ])
  }

  @Test func `what is discovered is in the table, and stays for the next connection`() throws {
    var talk = Conversation()
    talk.connect()
    talk.discover()
    talk.disconnect()
    talk.connect(kind: 2)
    talk.discover()
    var decoder = TrafficDecoder()
    let found = talk.events(&decoder).count {
      switch $0.kind {
      case .foundService, .foundCharacteristic, .foundDescriptor: true
      default: false
      }
    }
    #expect(found == 3)
    let table = decoder.table(of: .device(Conversation.address))
    #expect(table.services.map(\.uuid.short) == [0x180d])
    #expect(table.characteristic(at: 12)?.uuid.short == 0x2a37)
    #expect(table.characteristic(around: 13)?.valueHandle == 12)
    #expect(table.descriptor(at: 13)?.uuid.short == 0x2902)
    #expect(table.characteristic(around: 9) == nil)
    #expect(table.service(around: 21) == nil)
  }

  @Test func `reads and writes have their outcomes and durations`() throws {
    var talk = Conversation()
    talk.connect()
    talk.attributes([0x0a, 12, 0], [0x0b, 1, 2])
    talk.attributes([0x0a, 13, 0], [0x01, 0x0a, 13, 0, 0x0f])
    talk.attributes([0x12, 13, 0, 1, 0], [0x13])
    talk.attributes([0x52, 12, 0, 9])
    talk.attributes([0x0c, 12, 0, 22, 0], [0x0d, 7])
    talk.attributes([0x16, 12, 0, 5, 0, 1], [0x17, 12, 0, 5, 0, 1])
    talk.attributes([0x18, 1], [0x19])
    talk.attributes([0x12, 12, 0, 3])
    talk.disconnect()
    let operations = talk.events.operations
    #expect(
      operations.map(\.kind) == [.read, .read, .write, .writeCommand, .readBlob, .prepareWrite, .executeWrite, .write])
    #expect(operations.map(\.value) == [[1, 2], [], [1, 0], [9], [7], [1], [1], [3]])
    #expect(operations.map(\.handle) == [12, 13, 13, 12, 12, 12, 0, 12])
    #expect(operations[1].outcome == .refused(ATTError(rawValue: 0x0f)))
    #expect(operations[4].offset == 22)
    #expect(operations.last?.outcome == .unanswered)
    #expect(operations[0].duration == 1000)
    #expect(operations.allSatisfy { $0.server == .device(Conversation.address) })
  }

  @Test func `a search that finds no more is no failed operation`() {
    var talk = Conversation()
    talk.connect()
    talk.attributes([0x10, 21, 0, 0xff, 0xff, 0, 0x28], [0x01, 0x10, 21, 0, 0x0a])
    #expect(talk.events.operations.isEmpty)
  }

  @Test func `requests of both sides do not mix`() {
    var talk = Conversation()
    talk.connect()
    talk.attributes([0x0a, 12, 0])
    talk.attributes([0x0a, 3, 0], fromHost: false)
    talk.send(L2CAPFrame.attributes, [0x0b, 1], fromHost: false)
    talk.send(L2CAPFrame.attributes, [0x0b, 2], fromHost: true)
    let operations = talk.events.operations
    #expect(operations.map(\.server) == [.device(Conversation.address), .host(adapter: 0)])
    #expect(operations.map(\.handle) == [12, 3])
    #expect(operations.map(\.value) == [[1], [2]])
  }

  @Test(arguments: [1, 2, 3, 4, 5, 7, 27, 251])
  func `packets in pieces of any size are put together`(piece: Int) {
    var talk = Conversation()
    talk.piece = piece
    talk.connect()
    talk.discover()
    talk.send(L2CAPFrame.attributes, [0x1b, 12, 0] + Array(0...99), fromHost: false)
    talk.send(L2CAPFrame.attributes, [0x1d, 12, 0], fromHost: false)
    talk.send(L2CAPFrame.attributes, [0x23, 12, 0, 1, 0, 5, 12, 0, 0, 0], fromHost: false)
    #expect(talk.events.values == [Array(0...99), [], [5], []])
  }

  @Test func `a connection that is older than the recording is followed without its address`() {
    var talk = Conversation()
    talk.send(L2CAPFrame.attributes, [0x1b, 12, 0, 5], fromHost: false)
    let events = talk.events
    #expect(events.map(\.kind) == [.value(handle: 12, [5], isIndication: false, .unknown(link: 1))])
    #expect(events.first?.link?.peer == nil)
  }

  @Test func `attributes of a private address belong to the identity that pairing shows`() {
    var talk = Conversation()
    talk.connect(to: [1, 2, 3, 4, 5, 0x40], kind: 1)
    talk.discover()
    talk.send(L2CAPFrame.security, [0x09, 0] + Conversation.peer, fromHost: false)
    var decoder = TrafficDecoder()
    _ = talk.events(&decoder)
    #expect(decoder.table(of: .device(Conversation.address)).characteristics.count == 1)
    let second = DeviceAddress("40:05:04:03:02:01", kind: .random)!
    #expect(decoder.table(of: .device(second)).characteristics.count == 1)
  }

  @Test func `lost records are reported once`() {
    var decoder = TrafficDecoder()
    var note = CaptureRecord(time: 0, adapter: 0, kind: .systemNote, bytes: Array("Linux\0".utf8), drops: 3)
    #expect(decoder.handle(note).map(\.kind) == [.lost(3), .note("Linux")])
    #expect(decoder.handle(note).map(\.kind) == [.note("Linux")])
    note.drops = 4
    #expect(decoder.handle(note).map(\.kind) == [.lost(1), .note("Linux")])
  }

  @Test func `a connection of Bluetooth Classic is not taken for one of LE`() {
    var talk = Conversation()
    talk.event(0x03, [0, 1, 0] + Conversation.peer + [1, 0])
    talk.send(L2CAPFrame.attributes, [0x1b, 12, 0, 5], fromHost: false)
    talk.disconnect()
    #expect(talk.events.isEmpty)
  }
}
