import Testing

@testable import BlueZ

@Suite("Assigned numbers") struct AssignedNumbersTests {
  @Test("Frequent services, characteristics and companies have names") func namesOneMeets() {
    #expect(AssignedNumbers.service("180d") == "Heart Rate")
    #expect(AssignedNumbers.service("180f") == "Battery")
    #expect(AssignedNumbers.service("0000feaa-0000-1000-8000-00805f9b34fb") == "Eddystone")
    #expect(AssignedNumbers.characteristic("2a37") == "Heart Rate Measurement")
    #expect(AssignedNumbers.characteristic("2b3a") == "Server Supported Features")
    #expect(AssignedNumbers.descriptor("2902") == "Client Characteristic Configuration")
    #expect(AssignedNumbers.company(0x004c) == "Apple")
  }

  @Test("Numbers that are not assigned have no name") func numbersNobodyAssigned() {
    #expect(AssignedNumbers.service("ec0d0001-ec0d-ec0d-ec0d-ec0d0001ec0d") == nil)
    #expect(AssignedNumbers.service(BluetoothUUID(short: 0x1_180d)) == nil)
    #expect(AssignedNumbers.characteristic("180d") == nil)
    #expect(AssignedNumbers.company(0xfffe) == nil)
  }

  @Test(
    "An appearance has the name of its kind, or of its category",
    arguments: [
      (961, "Keyboard"), (960, "Human Interface Device"), (985, "Human Interface Device"), (0, "Unknown"),
    ])
  func appearances(value: UInt16, name: String) {
    #expect(AssignedNumbers.appearance(value) == name)
  }

  @Test("A table maps each number to its name") func aTable() {
    #expect(AssignedNumbers.table("180a Device Information\n2a00 x") == [0x180a: "Device Information", 0x2a00: "x"])
  }
}
