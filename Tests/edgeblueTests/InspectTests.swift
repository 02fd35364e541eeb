import BlueZ
import Testing

@testable import edgeblue

@Suite("The command inspect") struct InspectTests {
  @Test(
    "Values of well-known attributes are decoded",
    arguments: [
      ("2a19", [87], "87 %"), ("2a01", [0xc1, 0x03], "Keyboard"), ("2a07", [0xfc], "-4 dBm"),
      ("2a38", [1], "Chest"), ("2a6e", [0x9c, 0xff], "-1.00 °C"), ("2a6e", [0x05, 0x00], "0.05 °C"),
      ("2a04", [6, 0, 0xff, 0xff, 0, 0, 0xc8, 0], "interval 7.50 ms to any, latency 0, timeout 2000 ms"),
      ("2a2b", [0xea, 0x07, 11, 21, 8, 5, 9, 6, 0, 0], "2026-11-21 08:05:09"),
      ("2a50", [1, 0x4c, 0, 2, 1, 0, 1], "Bluetooth vendor 0x004c (Apple), product 0x0102, version 0x0100"),
      ("2902", [3, 0], "notifications on, indications on"), ("2902", [0, 0], "off"),
      ("2908", [4, 1], "report 4, input"),
    ])
  func meanings(uuid: String, bytes: [UInt8], words: String) throws {
    #expect(AttributeMeaning.words(try #require(BluetoothUUID(uuid)), bytes) == words)
  }

  @Test(
    "A truncated value is not decoded",
    arguments: ["2a01", "2a04", "2a19", "2a2b", "2a38", "2a50", "2a6e", "2902", "2904", "2908", "ec0d"])
  func whatIsCutShortMeansNothing(uuid: String) throws {
    let uuid = try #require(BluetoothUUID(uuid))
    #expect(AttributeMeaning.words(uuid, []) == nil)
    #expect(AttributeMeaning.words(uuid, [0xff]) == nil)
  }

  @Test("An unknown value is printed as text if possible, otherwise as bytes") func valuesOfNobodyKnowsWhat() {
    let unknown: BluetoothUUID = "ec0d0001-ec0d-ec0d-ec0d-ec0d0001ec0d"
    #expect(AttributeText.text(unknown, []) == "empty")
    #expect(AttributeText.text(unknown, [0x41, 0x42]) == "41 42")
    #expect(AttributeText.text(unknown, Array("Hello\0\0".utf8)) == "\"Hello\"")
    #expect(AttributeText.text(unknown, Array("a\u{1b}[2J".utf8)) == "61 1b 5b 32 4a")
    #expect(AttributeText.text(unknown, [0xff, 0xfe, 0xfd]) == "ff fe fd")
    #expect(AttributeText.text(unknown, .init(repeating: 0, count: 100)).hasSuffix("00 … (100 bytes)"))
    #expect(AttributeText.text("2a00", Array("P\n".utf8)) == "\"P\u{fffd}\"")
  }

  private let pulse = Inspection(
    address: "00:AA:01:00:00:42", addressType: "public", name: "Pulse", appearance: 832, rssi: -40, mtu: 517,
    services: [
      .init(
        uuid: "180d", handle: 0x10,
        characteristics: [
          .init(
            uuid: "2a37", handle: 0x11, flags: .notify,
            descriptors: [.init(uuid: "2902", handle: 0x13, value: .value([0, 0]))]),
          .init(uuid: "2a38", flags: [.read, .write], value: .refused("Not paired")),
        ]),
      .init(uuid: "0a0b0c0d-7561-7274-6272-696467650001", isPrimary: false, includes: ["180f"]),
    ])

  @Test("Services, characteristics and descriptors are printed as a tree") func theTree() {
    #expect(pulse.title == "Pulse  00:AA:01:00:00:42 (public), -40 dBm, MTU 517, Heart Rate Sensor")
    #expect(
      pulse.tree { text, _ in text } == [
        "", "Heart Rate  180d  #0010", "├─ Heart Rate Measurement  2a37  #0011  notify",
        "│  └─ Client Characteristic Configuration  2902  #0013  = off  (0000)",
        "└─ Body Sensor Location  2a38  read, write  ! Not paired", "",
        "Unknown  0a0b0c0d-7561-7274-6272-696467650001  secondary  includes Battery",
      ])
  }

  @Test("Values are printed as JSON, with meaning, text or error") func forPrograms() {
    let text = pulse.json.line
    #expect(text.contains(#""meaning":"off","name":"Client Characteristic Configuration","text":null"#))
    #expect(text.contains(#""error":"Not paired","flags":["read","write"]"#))
    #expect(text.contains(#""value":"0000""#))
  }

  @Test("Reading values stops at the timeout, and at a lost connection") func readingIsBounded() async throws {
    var reader = AttributeReader(timeout: .seconds(100))
    #expect(try await reader.read { limit in limit == .seconds(10) ? [1] : [] } == .value([1]))
    #expect(try await reader.read { _ in throw BlueZError(.timedOut, "x") } == .refused("timed out"))
    await #expect(throws: BlueZError.self) { try await reader.read { _ in throw BlueZError(.notConnected, "x") } }
    #expect(reader.unread == 0)

    var late = AttributeReader(timeout: .zero)
    #expect(try await late.read { _ in [1] } == nil)
    #expect(late.unread == 1)

    var idle = AttributeReader(timeout: nil)
    #expect(try await idle.read { _ in [1] } == nil)
    #expect(idle.unread == 0)
  }
}
