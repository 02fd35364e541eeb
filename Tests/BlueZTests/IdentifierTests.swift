import Foundation
import Testing

@testable import BlueZ

@Suite("Addresses and UUIDs") struct IdentifierTests {
  @Test(
    "A UUID is read in each of its forms",
    arguments: [
      ("180f", "0000180f-0000-1000-8000-00805f9b34fb"),
      ("0x180F", "0000180f-0000-1000-8000-00805f9b34fb"),
      ("12345678", "12345678-0000-1000-8000-00805f9b34fb"),
      ("EC0D0001-EC0D-EC0D-EC0D-EC0D0001EC0D", "ec0d0001-ec0d-ec0d-ec0d-ec0d0001ec0d"),
      ("00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000001"),
    ])
  func aUUIDIsReadInEveryForm(_ text: String, _ long: String) throws {
    #expect(try #require(BluetoothUUID(text)).description == long)
  }

  @Test(
    "Text of any other form is no UUID",
    arguments: [
      "", "18", "180g", "0x", "123456789", "EC0D-0001-EC0D-EC0D-EC0D-EC0D0001EC0D",
      "ec0d0001-ec0d-ec0d-ec0d-ec0d0001ec0", "ec0d0001ec0d-ec0d-ec0d--ec0d0001ec0d", "－180",
    ])
  func anythingElseIsNoUUID(_ text: String) {
    #expect(BluetoothUUID(text) == nil)
  }

  @Test("An assigned number is recognized in its 128-bit form") func anAssignedNumberIsKnownAgain() throws {
    #expect(BluetoothUUID(short: 0x180f).short == 0x180f)
    #expect(BluetoothUUID(short: 0x180f).advertisedSize == 2)
    #expect(BluetoothUUID(short: 0x1234_5678).advertisedSize == 4)
    #expect(("ec0d0001-ec0d-ec0d-ec0d-ec0d0001ec0d" as BluetoothUUID).short == nil)
    #expect(("ec0d0001-ec0d-ec0d-ec0d-ec0d0001ec0d" as BluetoothUUID).advertisedSize == 16)
  }

  @Test("An address is six hexadecimal pairs in any case") func addresses() throws {
    #expect(try #require(BluetoothAddress("00:aa:01:00:00:42")).description == "00:AA:01:00:00:42")
    for text in ["", "00:aa:01:00:00", "00:aa:01:00:00:4g", "00aa01000042", "00:aa:01:00:00:42:", "+0:aa:01:00:00:42"] {
      #expect(BluetoothAddress(text) == nil)
    }
    #expect(Peer(path: "/org/bluez/hci0/dev_00_AA_01_00_00_42").address == BluetoothAddress("00:AA:01:00:00:42"))
    #expect(Peer(path: "/org/bluez/hci0").address == nil)
  }

  @Test("The bytes of a UUID go to the air and to Foundation, and come back") func bytesOfUUIDs() throws {
    #expect(("180f" as BluetoothUUID).littleEndian == [0x0f, 0x18])
    #expect(BluetoothUUID(short: 0x1234_5678).littleEndian == [0x78, 0x56, 0x34, 0x12])
    let long: BluetoothUUID = "00112233-4455-6677-8899-aabbccddeeff"
    #expect(long.littleEndian.reversed() == (0..<16).map { UInt8($0 * 0x11) })
    for uuid in [long, "180f", "12345678"] { #expect(BluetoothUUID(littleEndian: uuid.littleEndian) == uuid) }
    for count in [0, 1, 3, 15, 17] { #expect(BluetoothUUID(littleEndian: [UInt8](repeating: 1, count: count)) == nil) }
    let foundation = try #require(UUID(uuidString: long.description))
    #expect(UUID(uuid: long.uuid) == foundation)
    #expect(BluetoothUUID(uuid: foundation.uuid) == long)
  }

  @Test("The bytes of an address are those of the air") func bytesOfAddresses() throws {
    let address = try #require(BluetoothAddress("00:AA:01:00:00:42"))
    #expect(address.littleEndian == [0x42, 0, 0, 1, 0xaa, 0])
    #expect(BluetoothAddress(littleEndian: address.littleEndian) == address)
    #expect(BluetoothAddress(littleEndian: [1, 2, 3, 4, 5]) == nil)
  }

  @Test("Addresses and UUIDs are texts in JSON, and other texts are refused") func json() throws {
    struct Known: Codable, Equatable {
      var address: BluetoothAddress?
      var type: AddressType
      var services: [BluetoothUUID]
    }
    let known = Known(address: BluetoothAddress("00:AA:01:00:00:42"), type: .random, services: ["180f"])
    let text = #"{"address":"00:aa:01:00:00:42","type":"random","services":["0x180F"]}"#
    #expect(try JSONDecoder().decode(Known.self, from: Data(text.utf8)) == known)
    #expect(try JSONDecoder().decode(Known.self, from: JSONEncoder().encode(known)) == known)
    for text in [#"{"address":"x","type":"random","services":[]}"#, #"{"type":"random","services":["18"]}"#] {
      #expect(throws: DecodingError.self) { try JSONDecoder().decode(Known.self, from: Data(text.utf8)) }
    }
  }

  /// The two most significant bits of a random address determine its kind (Core Specification 6.B.1.3.2).
  @Test(
    "Only random addresses that change are private",
    arguments: [
      ("C0:00:00:00:00:01", AddressType.random, false), ("FF:00:00:00:00:01", .random, false),
      ("7F:00:00:00:00:01", .random, true), ("3F:00:00:00:00:01", .random, true), ("40:00:00:00:00:01", .public, false),
    ])
  func privateAddresses(_ text: String, _ type: AddressType, _ isPrivate: Bool) throws {
    #expect(try #require(BluetoothAddress(text)).isPrivate(type) == isPrivate)
  }

  @Test("Versions are read and compared") func versionsAreReadAndCompared() throws {
    #expect(BlueZRelease("5.66") == BlueZRelease(5, 66))
    #expect(BlueZRelease("5.72-1ubuntu\n") == BlueZRelease(5, 72))
    #expect(BlueZRelease("bluez") == nil)
    #expect(BlueZRelease("5.") == nil)
    #expect(BlueZRelease(5, 9) < BlueZRelease(5, 10))
  }

  typealias Capability = BlueZRelease.Capability

  /// The releases of common distributions, and the capabilities that each lacks.
  @Test(
    "Each release lacks the capabilities that its history shows",
    arguments: [
      (
        BlueZRelease(5, 66), 510, 508,
        [
          Capability.opensOneChannel, .socketPerPeer, .fullLengthWrites, .notifiesOnePeer, .advertisingInterval,
          .indicationSockets, .scanResponses, .reportsDisconnectReason, .reportsBearers, .reportsAdvertisingInstance,
        ]
      ),
      (
        BlueZRelease(5, 72), 512, 512,
        [
          .monitorsServicesAndNames, .notifiesOnePeer, .advertisingInterval, .indicationSockets, .scanResponses,
          .reportsDisconnectReason, .reportsBearers,
          .reportsAdvertisingInstance,
        ]
      ),
      (
        BlueZRelease(5, 74), 512, 512,
        [
          .monitorsServicesAndNames, .registersServices, .confirmsIndications, .notifiesOnePeer, .advertisingInterval,
          .indicationSockets,
          .scanResponses,
          .reportsDisconnectReason, .reportsBearers, .reportsAdvertisingInstance,
        ]
      ),
      (
        BlueZRelease(5, 79), 512, 512,
        [
          .monitorsServicesAndNames, .confirmsIndications, .indicationSockets, .scanResponses, .reportsDisconnectReason,
          .reportsBearers,
          .reportsAdvertisingInstance,
        ]
      ),
      (
        BlueZRelease(5, 82), 512, 512,
        [
          .monitorsServicesAndNames, .pairsAsTheCaller, .reportsDisconnectReason, .reportsBearers,
          .reportsAdvertisingInstance,
        ]
      ),
      (BlueZRelease(5, 87), 512, 512, [.monitorsServicesAndNames, .pairsAsTheCaller, .filtersByService]),
      (BlueZRelease(5, 88), 512, 512, [.monitorsServicesAndNames, .pairsAsTheCaller]),
    ])
  func whatAVersionLacks(_ version: BlueZRelease, _ write: Int, _ long: Int, _ lacks: [Capability]) {
    // No release has that capability yet.
    #expect(Set(Capability.all.filter { !version.has($0) }) == Set(lacks + [.keepsOthersSubscribed]))
    #expect(version.largestServerWrite == write)
    #expect(version.largestServerLongWrite == long)
  }

  @Test("Every capability has a consequence and a source") func theTableIsWhole() {
    #expect(Set(Capability.all).count == Capability.all.count)
    #expect(Capability.all.allSatisfy { !$0.limitation.isEmpty })
    #expect(Capability.all.allSatisfy { $0.source.contains { $0.isNumber } })
  }
}
