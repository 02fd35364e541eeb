/// The places of keys and secrets of pairing in commands and events of controllers.
enum KeyLocations {
  /// By the opcode, the range among the parameters (Core Specification 4.E.7).
  static let commands: [UInt16: Range<Int>] = [
    // Link Key Request Reply, PIN Code Request Reply, User Passkey Request Reply.
    0x040b: 6..<22, 0x040d: 6..<23, 0x042e: 6..<10,
    // Remote OOB Data Request Reply, and the extended one.
    0x0430: 6..<38, 0x0445: 6..<70,
    // Write Stored Link Key.
    0x0c11: 1..<255,
    // LE Encrypt, LE Enable Encryption, LE Long Term Key Request Reply, LE Add Device To Resolving List.
    0x2017: 0..<32, 0x2019: 2..<28, 0x201a: 2..<18, 0x2027: 7..<39,
    // The codes of isochronous broadcasts: LE Create BIG, LE BIG Create Sync.
    0x2068: 15..<31, 0x206b: 4..<20,
  ]

  /// The commands whose results are secrets, after the status: LE Encrypt, LE Rand, Read Local OOB Data.
  private static let results: Set<UInt16> = [0x2017, 0x2018, 0x0c57, 0x0c7d]

  /// Returns the ranges in the content of an event, which may be cut before or within them.
  static func inEvent(_ event: HCIEvent) -> [Range<Int>] {
    // Code and length come before the parameters.
    switch event {
    case .commandCompleted(let opcode, _): return results.contains(opcode) ? [6..<Int.max] : []
    case .other(let code, let parameters):
      switch code {
      // Return Link Keys; Link Key Notification; User Confirmation Request and User Passkey Notification.
      case 0x15: return [3..<Int.max]
      case 0x18: return [8..<24]
      case 0x33, 0x3b: return [8..<12]
      // LE Generate DHKey Complete.
      case 0x3e where parameters.first == 0x09: return [4..<Int.max]
      default: return []
      }
    default: return []
    }
  }
}

extension CaptureRecord {
  /// Replaces bytes with zeros; those past the end are ignored.
  mutating func zero(_ range: some RangeExpression<Int>) {
    let all = 0..<Int.max
    for index in range.relative(to: all).clamped(to: 0..<bytes.count) { bytes[index] = 0 }
  }
}

extension HCICommand {
  /// The object of a command.
  enum Subject: Hashable {
    /// The adapter as a whole.
    case adapter
    case device(DeviceAddress)
    case link(UInt16)
    /// Something of Bluetooth Classic, or of a vendor.
    case other
  }

  /// The commands that name a connection first.
  private static let ofLinks: Set<UInt16> = [
    0x0406, 0x041b, 0x041d, 0x0c2d, 0x0c08, 0x1405, 0x2013, 0x2015, 0x2016, 0x2019, 0x201a, 0x201b, 0x2020, 0x2021,
    0x2022, 0x2030, 0x2032, 0x206d, 0x206f, 0x2076, 0x2077,
  ]

  /// The commands of the groups for controllers and LE are about the adapter as a whole, unless they are known to be
  /// about a device or a connection.
  var subject: Subject {
    if let device { return .device(device) }
    if Self.ofLinks.contains(opcode) {
      var reader = ByteReader(parameters)
      return reader.uint16().map { .link($0 & 0xfff) } ?? .other
    }
    return Self.isOfAdapter(opcode) ? .adapter : .other
  }

  /// Returns `true` for the groups 3 (controller), 4 (information) and 8 (LE).
  static func isOfAdapter(_ opcode: UInt16) -> Bool { [3, 4, 8].contains(opcode >> 10) || opcode == Opcode.disconnect }

  /// The offset among the parameters of the length of advertising data.
  var advertisingDataStart: Int? {
    switch opcode {
    case Opcode.setAdvertisingData, Opcode.setScanResponse: 0
    case Opcode.setExtendedAdvertisingData, Opcode.setExtendedScanResponse: 3
    default: nil
    }
  }
}

extension HCIEvent {
  /// Returns the offset among the parameters of the connection that an event names; `nil` where it names none.
  static func handleOffset(_ code: UInt8, _ parameters: [UInt8]) -> Int? {
    switch (code, parameters.first) {
    // Read Remote Version Information Complete.
    case (0x0c, _): 1
    // LE Read Remote Features Complete; LE Long Term Key Request, LE Remote Connection Parameter Request and LE
    // Channel Selection Algorithm.
    case (0x3e, 0x04): 2
    case (0x3e, 0x05), (0x3e, 0x06), (0x3e, 0x14): 1
    default: nil
    }
  }
}
