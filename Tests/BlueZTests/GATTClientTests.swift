import DBus
import Streams
import Testing

@testable import BlueZ

@Suite("The GATT client, without a bus") struct GATTClientTests {
  private func read(_ notifications: Notifications) async throws -> [UInt8] {
    try await notifications.reduce(into: []) { $0 += $1 }
  }

  @Test(
    "Values that exceed the capacity are counted",
    arguments: [
      (Notifications.Overflow.dropOldest, [UInt8](5..<8)), (.dropNewest, [UInt8](0..<3)),
    ])
  func whatHasNoRoomIsCounted(_ overflow: Notifications.Overflow, _ kept: [UInt8]) async throws {
    let (notifications, source) = Notifications.make(of: "2a37", limit: 3, overflow: overflow, onTermination: {})
    for number in UInt8(0)..<8 { source.yield([number]) }
    source.finish()
    #expect((notifications.received, notifications.dropped) == (8, 5))
    #expect(try await read(notifications) == kept)
  }

  @Test("A stream without gaps ends with an error after the values that arrived")
  func aStreamThatMayHaveNoGapEndsWithAnErrorBehindWhatCame() async throws {
    let ended = Lock(0)
    let (notifications, source) = Notifications.make(
      of: "2a37", limit: 3, overflow: .fail, onTermination: { ended.withLock { $0 += 1 } })
    for number in UInt8(0)..<4 { source.yield([number]) }
    #expect(ended.withLock { $0 } == 1, "it unsubscribes at once")
    var iterator = notifications.makeAsyncIterator()
    for number in UInt8(0)..<3 { #expect(try await iterator.next() == [number]) }
    let error = await #expect(throws: BlueZError.self) { _ = try await iterator.next() }
    #expect(error?.code == .overflowed)
  }

  @Test("The handle is read from the name of an object") func bluetoothdTellsHandlesInNames() {
    let device: ObjectPath = "/org/bluez/hci0/dev_00_11_22_33_44_55"
    #expect(device.attributeHandle == nil)
    #expect(ObjectPath(stringLiteral: "\(device)/service001a").attributeHandle == 0x1a)
    #expect(ObjectPath(stringLiteral: "\(device)/service001a/char00ff").attributeHandle == 0xff)
    #expect(ObjectPath(stringLiteral: "\(device)/service001a/char00ff/descbeef").attributeHandle == 0xbeef)
    #expect(ObjectPath(stringLiteral: "\(device)/service1a").attributeHandle == nil)
  }

  @Test("Every flag has its name in BlueZ") func everyFlagHasItsNameInBlueZ() {
    let all = CharacteristicFlags(rawValue: (1 << 23) - 1)
    #expect(all.bluezNames.count == 23)
    #expect(CharacteristicFlags(all.bluezNames) == all)
    #expect(CharacteristicFlags(["notify", "something new"]) == .notify)
  }
}
