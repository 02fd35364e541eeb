import Btsnoop
import Testing

@Suite("Btsnoop: values of packets")
struct ValueTests {
  @Test func `an address has six bytes and a text`() throws {
    let address = try #require(DeviceAddress("00:aa:01:00:00:42", kind: .random))
    #expect(address.description == "00:AA:01:00:00:42")
    for text in [
      "", "00:AA:01:00:00", "00:AA:01:00:00:4", "00:AA:01:00:00:+4", "00-AA-01-00-00-42", "g0:AA:01:00:00:42",
    ] {
      #expect(DeviceAddress(text) == nil, "\(text)")
    }
    #expect(DeviceAddress("40:00:00:00:00:01", kind: .random)?.isResolvablePrivate == true)
    #expect(DeviceAddress("C0:00:00:00:00:01", kind: .random)?.isResolvablePrivate == false)
    #expect(DeviceAddress("40:00:00:00:00:01")?.isResolvablePrivate == false)
  }

  @Test func `UUIDs of all lengths are equal when they are the same`() throws {
    let short = AttributeUUID(0x180d)
    #expect(AttributeUUID(littleEndian: [0x0d, 0x18]) == short)
    #expect(AttributeUUID(littleEndian: [0x0d, 0x18, 0, 0]) == short)
    #expect(AttributeUUID("180D") == short)
    #expect(AttributeUUID("0000180d-0000-1000-8000-00805F9B34FB") == short)
    #expect(short.description == "0000180d-0000-1000-8000-00805f9b34fb")
    #expect(short.short == 0x180d)
    let long = try #require(AttributeUUID("ec0d0001-ec0d-ec0d-ec0d-ec0d0001ec0d"))
    #expect(long.short == nil)
    #expect(AttributeUUID(littleEndian: long.littleEndian) == long)
    for text in ["", "180", "180g", "180d0", "0000180d00001000800000805F9B34FB0000", "é80d"] {
      #expect(AttributeUUID(text) == nil, "\(text)")
    }
  }

  @Test func `advertising data is read to its end, or to the element that is too long`() {
    let bytes: [UInt8] = [
      2, 0x01, 6, 5, 0x03, 0x0d, 0x18, 0x0f, 0x18, 5, 0x09, 0x4c, 0x61, 0x6d, 0x70, 4, 0xff, 0x4c, 0, 9, 4, 0x16, 0x0f,
      0x18, 0x63, 2, 0x0a, 0xf4,
    ]
    let data = AdvertisingData(bytes)
    #expect(data.flags == 6)
    #expect(data.name == "Lamp")
    #expect(data.services == [AttributeUUID(0x180d), AttributeUUID(0x180f)])
    #expect(data.manufacturerData.map(\.company) == [0x4c])
    #expect(data.manufacturerData.map(\.bytes) == [[9]])
    #expect(data.serviceData.map(\.bytes) == [[0x63]])
    #expect(data.transmitPower == -12)
    #expect(data.bytes == bytes)
    #expect(!data.isTruncated)
    #expect(AdvertisingData(bytes.dropLast(1) + [0]).isTruncated == false)
    #expect(AdvertisingData(bytes + [9, 1]).isTruncated)
    #expect(AdvertisingData(bytes + [0, 9, 1]).isTruncated == false)
  }

  @Test func `pairing packets are read with their fields`() throws {
    guard case .pairingRequest(let features) = SMPPacket([1, 3, 0, 0x0d, 16, 3, 1]) else {
      Issue.record("no pairing request")
      return
    }
    #expect(features.wantsBonding)
    #expect(features.wantsAuthentication)
    #expect(features.supportsSecureConnections)
    #expect(features.keySize == 16)
    #expect(SMPPacket([5, 4]) == .failed(reason: 4))
    #expect(SMPPacket.reason(4) == "confirm value failed")
    #expect(SMPPacket.reason(200) == "reason 0xc8")
    #expect(SMPPacket([6] + [UInt8](repeating: 7, count: 16)) == .encryptionInformation(.init(repeating: 7, count: 16)))
    #expect(SMPPacket([6, 1, 2]) == nil)
    #expect(SMPPacket([]) == nil)
    #expect(SMPPacket([0x7f, 1]) == .other(code: 0x7f, bytes: [1]))
  }

  @Test func `errors have the names of the specification`() {
    #expect(ATTError.insufficientEncryption.description == "insufficient encryption")
    #expect(ATTError(rawValue: 0x80).description == "application error 0x80")
    #expect(HCIStatus.supervisionTimeout.description == "supervision timeout")
    #expect(HCIStatus(rawValue: 0xee).description == "status 0xee")
  }
}

extension ATTError {
  fileprivate static let insufficientEncryption = ATTError(rawValue: 0x0f)
}
