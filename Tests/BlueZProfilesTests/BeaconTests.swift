import Foundation
import Testing

@testable import BlueZProfiles

@Suite("Beacons") struct BeaconTests {
  @Test("An iBeacon is read and written") func iBeacon() throws {
    let beacon = try IBeacon(bytes: Samples.beacon)
    #expect(beacon.uuid == UUID(uuidString: "01020304-0506-0708-090A-0B0C0D0E0F10"))
    #expect([beacon.major, beacon.minor] == [1, 7])
    #expect(beacon.measuredPower == -59)
    #expect(beacon.bytes == Samples.beacon)
  }

  @Test("Other data of Apple's, and data that is cut off or too long, is refused") func noIBeacon() {
    let nearby = #expect(throws: ProfileError.self) { try IBeacon(bytes: [0x10, 5, 1, 2, 3, 4, 5]) }
    #expect(nearby?.code == .notSupported)
    for count in 0..<Samples.beacon.count {
      #expect(throws: ProfileError.self) { try IBeacon(bytes: Array(Samples.beacon.prefix(count))) }
    }
    let long = #expect(throws: ProfileError.self) { try IBeacon(bytes: Samples.beacon + [0]) }
    #expect(long?.code == .tooLong)
  }

  @Test("An Eddystone frame is written as it was read", arguments: Samples.frames)
  func frames(_ bytes: [UInt8]) throws {
    let frame = try EddystoneFrame(bytes: bytes)
    #expect(frame.bytes == bytes)
    #expect(try EddystoneFrame(bytes: frame.bytes) == frame)
  }

  @Test("Telemetry has millivolts, a temperature and two counters") func telemetry() throws {
    let report = EddystoneTelemetry(millivolts: 3000, temperature: 0x1580, advertisements: 256, uptime: 10_000)
    #expect(try EddystoneFrame(bytes: Samples.frames[2]) == .telemetry(report))
    #expect(report.celsius == 21.5)
    #expect(EddystoneTelemetry(millivolts: 0, temperature: .min, advertisements: 0, uptime: 0).celsius == nil)
  }

  @Test("An identifier without the two reserved bytes is accepted") func olderIdentifier() throws {
    #expect(
      try EddystoneFrame(bytes: Array(Samples.frames[0].dropLast(2))) == EddystoneFrame(bytes: Samples.frames[0]))
  }

  @Test(
    "A frame of another type or version, or with reserved bytes, is refused",
    arguments: [
      ([], .tooShort), ([0x40, 1], .notSupported), ([0x20, 2], .notSupported), ([0x10, 0, 4], .invalidField),
      ([0x10, 0, 0, 0x0e], .invalidField), ([0x10, 0, 0, 0x7f], .invalidField), ([0x00, 0] + Array(1...17), .tooShort),
      ([0x10, 0, 0] + [UInt8](repeating: 0x61, count: 18), .tooLong), ([0x30, 0] + Array(1...9), .tooLong),
    ] as [([UInt8], ProfileError.Code)])
  func refused(_ bytes: [UInt8], _ code: ProfileError.Code) {
    let error = #expect(throws: ProfileError.self) { try EddystoneFrame(bytes: bytes) }
    #expect(error?.code == code)
  }

  @Test("A link is abbreviated, and written out again") func links() throws {
    let link = try EddystoneURL("https://www.example.com/menu")
    #expect(link.bytes == [1] + Array("example".utf8) + [0] + Array("menu".utf8))
    #expect(try EddystoneURL("http://a.gov").bytes == [2, 0x61, 13])
    for text in ["ftp://a.org", "https://a b", "https://ä.org", "https://" + String(repeating: "x", count: 18)] {
      let error = #expect(throws: ProfileError.self) { try EddystoneURL(text) }
      #expect(error?.code == .invalidArgument)
    }
    // Another beacon may abbreviate less.
    guard case .url(let plain, _) = try EddystoneFrame(bytes: [0x10, 0, 2] + Array("a.gov".utf8)) else {
      Issue.record("not a link")
      return
    }
    #expect(plain == (try EddystoneURL("http://a.gov")))
  }
}
