/// An event of a controller to its host (Core Specification 4.E.7.7), as far as LE connections need it.
public enum HCIEvent: Sendable, Hashable {
  /// A connection that a controller made, or failed to make.
  public struct Connection: Sendable, Hashable {
    /// The outcome of the connection attempt.
    public var status: HCIStatus
    /// The number of the connection at this adapter, 0 to 0xEFF.
    public var handle: UInt16
    /// A Boolean value that indicates whether this host is the central.
    public var isCentral: Bool
    /// The address of the peer.
    public var peer: DeviceAddress
    /// The private address from which the peer connected, where the controller found the peer behind it.
    public var peerPrivateAddress: DeviceAddress?
    /// The private address that this host used for the connection, if its controller made one.
    public var localPrivateAddress: DeviceAddress?
    /// The parameters of the connection.
    public var timing: LinkTiming
  }

  /// The controller made an LE connection, or failed to.
  case connected(Connection)
  /// The controller made a connection of Bluetooth Classic, or failed to.
  case connectedClassic(status: HCIStatus, handle: UInt16)
  /// The controller reported that a connection ended.
  case disconnected(status: HCIStatus, handle: UInt16, reason: HCIStatus)
  /// The parameters of a connection changed, or the peer refused the change.
  case timingChanged(status: HCIStatus, handle: UInt16, timing: LinkTiming)
  /// A connection is encrypted, or no longer so.
  case encryptionChanged(status: HCIStatus, handle: UInt16, isEncrypted: Bool)
  /// A connection is encrypted with a new key.
  case keyRefreshed(status: HCIStatus, handle: UInt16)
  /// The PHYs of a connection changed: 1 is LE 1M, 2 is LE 2M, 3 is LE Coded.
  case phyChanged(status: HCIStatus, handle: UInt16, transmit: UInt8, receive: UInt8)
  /// The longest packets of a connection changed, in bytes.
  case dataLengthChanged(handle: UInt16, transmit: UInt16, receive: UInt16)
  /// The controller reported advertisements of other devices.
  case advertisements([AdvertisingReport])
  /// A command has an outcome; the parameters begin with its status for nearly all commands.
  case commandCompleted(opcode: UInt16, parameters: [UInt8])
  /// A command is under way, or was refused.
  case commandStatus(status: HCIStatus, opcode: UInt16)
  /// Another event, with its code and parameters.
  case other(code: UInt8, parameters: [UInt8])

  /// Decodes an event from its code, length and parameters.
  /// - Parameter bytes: The content of a record of the kind `event`.
  /// - Returns: `nil` for an event that is shorter than its code requires.
  public init?(_ bytes: [UInt8]) {
    var reader = ByteReader(bytes)
    guard let code = reader.byte(), let length = reader.byte(), let parameters = reader.bytes(Int(length)) else {
      return nil
    }
    var fields = ByteReader(parameters)
    switch code {
    case 0x03:
      guard let status = fields.byte(), let handle = fields.uint16() else { return nil }
      self = .connectedClassic(status: HCIStatus(rawValue: status), handle: handle & 0xfff)
    case 0x05:
      guard let status = fields.byte(), let handle = fields.uint16(), let reason = fields.byte() else { return nil }
      self = .disconnected(
        status: HCIStatus(rawValue: status), handle: handle & 0xfff, reason: HCIStatus(rawValue: reason))
    case 0x08, 0x59:
      guard let status = fields.byte(), let handle = fields.uint16(), let use = fields.byte() else { return nil }
      self = .encryptionChanged(status: HCIStatus(rawValue: status), handle: handle & 0xfff, isEncrypted: use != 0)
    case 0x0e:
      guard fields.byte() != nil, let opcode = fields.uint16() else { return nil }
      self = .commandCompleted(opcode: opcode, parameters: fields.all())
    case 0x0f:
      guard let status = fields.byte(), fields.byte() != nil, let opcode = fields.uint16() else { return nil }
      self = .commandStatus(status: HCIStatus(rawValue: status), opcode: opcode)
    case 0x30:
      guard let status = fields.byte(), let handle = fields.uint16() else { return nil }
      self = .keyRefreshed(status: HCIStatus(rawValue: status), handle: handle & 0xfff)
    case 0x3e: self.init(lowEnergy: &fields)
    default: self = .other(code: code, parameters: fields.all())
    }
  }

  /// Decodes an LE meta event after its length.
  private init?(lowEnergy fields: inout ByteReader) {
    let parameters = Array(fields.rest)
    guard let code = fields.byte() else { return nil }
    switch code {
    case 0x01, 0x0a, 0x29:
      guard let connection = Connection(&fields, isEnhanced: code != 0x01) else { return nil }
      self = .connected(connection)
    case 0x02, 0x0d:
      guard let reports = AdvertisingReport.all(&fields, isExtended: code == 0x0d) else { return nil }
      self = .advertisements(reports)
    case 0x03:
      guard let status = fields.byte(), let handle = fields.uint16(), let timing = LinkTiming(&fields) else {
        return nil
      }
      self = .timingChanged(status: HCIStatus(rawValue: status), handle: handle & 0xfff, timing: timing)
    case 0x07:
      guard let handle = fields.uint16(), let transmit = fields.uint16(), fields.uint16() != nil,
        let receive = fields.uint16()
      else { return nil }
      self = .dataLengthChanged(handle: handle & 0xfff, transmit: transmit, receive: receive)
    case 0x0c:
      guard let status = fields.byte(), let handle = fields.uint16(), let transmit = fields.byte(),
        let receive = fields.byte()
      else { return nil }
      self = .phyChanged(
        status: HCIStatus(rawValue: status), handle: handle & 0xfff, transmit: transmit, receive: receive)
    default: self = .other(code: 0x3e, parameters: parameters)
    }
  }
}

extension HCIEvent.Connection {
  /// Reads the parameters of LE (Enhanced) Connection Complete after the subevent's code.
  fileprivate init?(_ fields: inout ByteReader, isEnhanced: Bool) {
    guard let status = fields.byte(), let handle = fields.uint16(), let role = fields.byte(),
      let kind = fields.byte(), let peer = DeviceAddress(&fields, kind: kind)
    else { return nil }
    self.status = HCIStatus(rawValue: status)
    self.handle = handle & 0xfff
    isCentral = role == 0
    self.peer = peer
    if isEnhanced {
      guard let local = DeviceAddress(&fields, kind: 1), let remote = DeviceAddress(&fields, kind: 1) else {
        return nil
      }
      localPrivateAddress = local.octets.allSatisfy { $0 == 0 } ? nil : local
      peerPrivateAddress = remote.octets.allSatisfy { $0 == 0 } ? nil : remote
    }
    guard let timing = LinkTiming(&fields) else { return nil }
    self.timing = timing
  }
}
