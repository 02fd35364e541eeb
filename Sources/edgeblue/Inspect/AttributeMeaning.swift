import BlueZ

/// Decodes the values of well-known attributes (Bluetooth SIG, *GATT Specification Supplement*, and the Core
/// Specification, volume 3, part G, section 3.3.3, for descriptors).
enum AttributeMeaning {
  /// Returns the decoded value; `nil` for an unknown attribute, or malformed bytes.
  static func words(_ uuid: BluetoothUUID, _ bytes: [UInt8]) -> String? {
    uuid.short.flatMap { table[$0] }.flatMap { $0(Octets(bytes)) }
  }

  /// Returns `true` if the value is defined as text.
  static func isText(_ uuid: BluetoothUUID) -> Bool { uuid.short.map(texts.contains) ?? false }

  /// Device Name, the six strings of Device Information, User Description, and names of users.
  private static let texts: Set<UInt32> = [
    0x2a00, 0x2a24, 0x2a25, 0x2a26, 0x2a27, 0x2a28, 0x2a29, 0x2901, 0x2a87, 0x2a8a, 0x2a90,
  ]

  private typealias Reader = @Sendable (Octets) -> String?

  private static let table: [UInt32: Reader] = [
    0x2a01: { octets in octets.u16(0).map { AssignedNumbers.appearance($0) ?? "appearance \($0)" } },
    0x2a04: preferredConnection,
    0x2a07: { octets in octets.i8(0).map { "\($0) dBm" } },
    0x2a19: { octets in octets.u8(0).flatMap { $0 <= 100 ? "\($0) %" : nil } },
    0x2a2b: dateAndTime,
    0x2a38: { octets in
      octets.u8(0).flatMap { pick($0, ["Other", "Chest", "Wrist", "Finger", "Hand", "Ear Lobe", "Foot"]) }
    },
    0x2a50: plugAndPlay,
    0x2a6d: { octets in octets.u32(0).map { decimal(Int($0), digits: 1) + " Pa" } },
    0x2a6e: { octets in octets.i16(0).map { decimal(Int($0), digits: 2) + " °C" } },
    0x2a6f: { octets in octets.u16(0).map { decimal(Int($0), digits: 2) + " %" } },
    0x2aa6: { octets in octets.u8(0).flatMap { pick($0, ["not supported", "supported"]) } },
    0x2900: { octets in
      octets.u16(0).map { flags(Int($0), ["reliable write", "writable auxiliaries"], none: "none") }
    },
    0x2902: { octets in octets.u16(0).map { flags(Int($0), ["notifications on", "indications on"], none: "off") } },
    0x2904: presentationFormat,
    0x2908: { octets in
      guard let id = octets.u8(0), let kind = octets.u8(1) else { return nil }
      return "report \(id), "
        + (kind > 0 ? pick(kind - 1, ["input", "output", "feature"]) ?? "type \(kind)" : "type 0")
    },
  ]

  private static let preferredConnection: Reader = { octets in
    guard let least = octets.u16(0), let most = octets.u16(2), let latency = octets.u16(4), let limit = octets.u16(6)
    else { return nil }
    func interval(_ steps: UInt16) -> String { steps == 0xffff ? "any" : decimal(Int(steps) * 125, digits: 2) + " ms" }
    return "interval \(interval(least)) to \(interval(most)), latency \(latency), timeout "
      + (limit == 0xffff ? "any" : "\(Int(limit) * 10) ms")
  }

  private static let dateAndTime: Reader = { octets in
    guard let year = octets.u16(0), let rest = octets.bytes(2..<7), year > 0 else { return nil }
    func two(_ number: UInt8) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(year)-\(two(rest[0]))-\(two(rest[1])) \(rest[2...].map(two).joined(separator: ":"))"
  }

  private static let plugAndPlay: Reader = { octets in
    guard let source = octets.u8(0), let vendor = octets.u16(1), let product = octets.u16(3),
      let version = octets.u16(5)
    else { return nil }
    let assigned = source == 1 ? AssignedNumbers.company(vendor).map { " (\($0))" } ?? "" : ""
    let giver = source == 1 ? "Bluetooth" : source == 2 ? "USB" : "unknown"
    return "\(giver) vendor \(hex(vendor))\(assigned), product \(hex(product)), version \(hex(version))"
  }

  private static let presentationFormat: Reader = { octets in
    guard let format = octets.u8(0), let exponent = octets.i8(1), let unit = octets.u16(2) else { return nil }
    return "format \(format), exponent \(exponent), unit \(hex(unit))"
  }

  private static func pick(_ index: UInt8, _ names: [String]) -> String? {
    names.indices.contains(Int(index)) ? names[Int(index)] : nil
  }

  private static func flags(_ bits: Int, _ names: [String], none: String) -> String {
    let on = names.indices.filter { bits & 1 << $0 != 0 }.map { names[$0] }
    return on.isEmpty ? none : on.joined(separator: ", ")
  }

  /// Returns a fixed-point number as text, without rounding.
  private static func decimal(_ value: Int, digits: Int) -> String {
    let text = String(value.magnitude)
    let padded = String(repeating: "0", count: max(0, digits + 1 - text.count)) + text
    return (value < 0 ? "-" : "") + padded.dropLast(digits) + "." + padded.suffix(digits)
  }

  private static func hex(_ number: UInt16) -> String {
    let digits = String(number, radix: 16)
    return "0x" + String(repeating: "0", count: 4 - digits.count) + digits
  }
}
