/// A command of a host to its controller.
public struct HCICommand: Sendable, Hashable {
  /// The number of the command: its group in the upper six bits.
  public var opcode: UInt16
  /// The parameters without their length.
  public var parameters: [UInt8]

  /// Decodes a command from its opcode, length and parameters.
  /// - Parameter bytes: The content of a record of the kind `command`.
  /// - Returns: `nil` for a command that is shorter than its length says.
  public init?(_ bytes: [UInt8]) {
    var reader = ByteReader(bytes)
    guard let opcode = reader.uint16(), let length = reader.byte(), let parameters = reader.bytes(Int(length)) else {
      return nil
    }
    self.opcode = opcode
    self.parameters = Array(parameters)
  }

  /// The numbers of the commands that this library knows (Core Specification 4.E.7).
  enum Opcode {
    static let disconnect: UInt16 = 0x0406
    static let readRSSI: UInt16 = 0x1405
    static let setAdvertisingParameters: UInt16 = 0x2006
    static let setAdvertisingData: UInt16 = 0x2008
    static let setScanResponse: UInt16 = 0x2009
    static let enableAdvertising: UInt16 = 0x200a
    static let createConnection: UInt16 = 0x200d
    static let addToAcceptList: UInt16 = 0x2011
    static let removeFromAcceptList: UInt16 = 0x2012
    static let addToResolvingList: UInt16 = 0x2027
    static let removeFromResolvingList: UInt16 = 0x2028
    static let setExtendedAdvertisingData: UInt16 = 0x2037
    static let setExtendedScanResponse: UInt16 = 0x2038
    static let createExtendedConnection: UInt16 = 0x2043
    static let setPrivacyMode: UInt16 = 0x204e
  }

  /// The address of the device that a command names, by where it is among the parameters.
  var device: DeviceAddress? {
    let offset: Int
    switch opcode {
    case Opcode.createConnection: offset = 5
    case Opcode.createExtendedConnection: offset = 2
    case Opcode.addToAcceptList, Opcode.removeFromAcceptList, Opcode.addToResolvingList,
      Opcode.removeFromResolvingList, Opcode.setPrivacyMode:
      offset = 0
    default: return nil
    }
    var reader = ByteReader(parameters.dropFirst(offset))
    return DeviceAddress(&reader, kind: reader.byte())
  }

  /// The data of an advertisement or a scan response that the command sets; `nil` for another command, or a part of
  /// longer data.
  var advertisingData: (isScanResponse: Bool, data: AdvertisingData)? {
    var reader = ByteReader(parameters)
    switch opcode {
    case Opcode.setAdvertisingData, Opcode.setScanResponse:
      guard let length = reader.byte(), let data = reader.bytes(Int(length)) else { return nil }
      return (opcode == Opcode.setScanResponse, AdvertisingData(Array(data)))
    case Opcode.setExtendedAdvertisingData, Opcode.setExtendedScanResponse:
      // Set, operation (3: complete data), fragmentation, length.
      guard reader.byte() != nil, reader.byte() == 3, reader.byte() != nil, let length = reader.byte(),
        let data = reader.bytes(Int(length))
      else { return nil }
      return (opcode == Opcode.setExtendedScanResponse, AdvertisingData(Array(data)))
    default: return nil
    }
  }
}
