/// A command of the management interface, with its code (BlueZ, doc/mgmt-api.txt).
package enum ManagementCommand: UInt16, Sendable, CaseIterable {
  case readCommands = 0x0002
  case readInformation = 0x0004
  case stopDiscovery = 0x0024
  case setSecureConnections = 0x002d
  case setPrivacy = 0x002f
  case getConnectionInformation = 0x0031
  case loadConnectionParameters = 0x0035
  case getPHYs = 0x0044
  case setPHYs = 0x0045
  case readDefaults = 0x004b
  case setDefaults = 0x004c
}

/// A `struct mgmt_hdr` with its parameters: code, adapter and length in 16 bits each, the least significant byte first.
package struct ManagementPacket: Sendable, Hashable {
  /// The code of a command or event.
  package let code: UInt16
  /// The number N of hciN; 0xffff for none.
  package let index: UInt16
  /// The bytes after the header.
  package let parameters: [UInt8]

  /// Creates a packet from its fields.
  package init(_ code: UInt16, _ index: UInt16, _ parameters: [UInt8]) {
    self.code = code
    self.index = index
    self.parameters = parameters
  }

  /// - Returns: `nil` for a packet whose length is not what its header states.
  package init?(_ bytes: [UInt8]) {
    var fields = LittleEndianReader(bytes)
    guard let code = fields.uint16(), let index = fields.uint16(), let length = fields.uint16(),
      fields.rest.count == Int(length)
    else { return nil }
    self.init(code, index, Array(fields.rest))
  }

  /// The packet as the kernel reads and writes it.
  package var bytes: [UInt8] {
    code.littleEndianBytes + index.littleEndianBytes + UInt16(truncatingIfNeeded: parameters.count).littleEndianBytes
      + parameters
  }

  /// The outcome of a command.
  struct Reply: Sendable, Hashable {
    let status: UInt8
    let parameters: [UInt8]
  }

  /// Returns the outcome of a command, if this is its Command Complete or Command Status event.
  func reply(to command: UInt16, _ index: UInt16) -> Reply? {
    var fields = LittleEndianReader(parameters)
    guard [1, 2].contains(code), self.index == index, fields.uint16() == command, let status = fields.uint8() else {
      return nil
    }
    return Reply(status: status, parameters: Array(fields.rest))
  }
}

/// Reads integers with the least significant byte first; every one is `nil` when the bytes do not suffice.
struct LittleEndianReader {
  private(set) var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
    guard rest.count >= count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }

  mutating func uint8() -> UInt8? { bytes(1)?.first }

  mutating func int8() -> Int8? { uint8().map { Int8(bitPattern: $0) } }

  mutating func uint16() -> UInt16? { bytes(2)?.reversed().reduce(0) { $0 << 8 | UInt16($1) } }

  mutating func uint32() -> UInt32? { bytes(4)?.reversed().reduce(0) { $0 << 8 | UInt32($1) } }
}

extension FixedWidthInteger {
  /// The bytes with the least significant one first.
  var littleEndianBytes: [UInt8] { withUnsafeBytes(of: littleEndian) { Array($0) } }
}
