import CoreBluetooth
import Testing

extension CoreBluetoothTests {
  @Test("A UUID is the same in each of its forms, and shows the shortest")
  func uuids() throws {
    let short = CBUUID(string: "180d")
    let long = CBUUID(string: "0000180D-0000-1000-8000-00805F9B34FB")
    #expect(short == long)
    #expect(short.hash == long.hash)
    #expect(Set([short, long, CBUUID(data: Data([0x18, 0x0d]))]).count == 1)
    #expect(long.uuidString == "180D")
    #expect(long.data == Data([0x18, 0x0d]))
    #expect("\(short)" == "Heart Rate")
    let own = "EC0D0001-EC0D-EC0D-EC0D-EC0D0001EC0D"
    #expect(CBUUID(nsuuid: try #require(UUID(uuidString: own))).uuidString == own)
    #expect(CBUUID(string: own).data.count == 16)
  }

  @Test("Errors have Apple's domains and numbers, also those without a name")
  func errors() {
    let error: any Error = CBError(.connectionTimeout)
    #expect((error as NSError).domain == "CBErrorDomain")
    #expect((error as NSError).code == 6)
    #expect((error as? CBError)?.code == .connectionTimeout)
    #expect(CBATTError.Code(rawValue: 5) == .insufficientAuthentication)
    #expect(CBATTError.Code(rawValue: 0x80)?.rawValue == 0x80)
    #expect((CBATTError(.insufficientResources) as NSError).code == 17)
    do {
      throw error
    } catch CBError.connectionTimeout {
    } catch {
      Issue.record("a code matches its error in a catch clause")
    }
  }
}
