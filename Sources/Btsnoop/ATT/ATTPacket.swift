/// A packet of the Attribute Protocol (Core Specification 3.F.3.4).
public enum ATTPacket: Sendable, Hashable {
  /// An attribute's handle with its value, as discovery returns them.
  public struct Entry: Sendable, Hashable {
    /// The handle of the attribute.
    public var handle: UInt16
    /// The last handle of the attribute's group; the same handle where there is no group.
    public var end: UInt16
    /// The value of the attribute.
    public var value: [UInt8]
  }

  /// An attribute's handle with its type.
  public struct TypedHandle: Sendable, Hashable {
    /// The handle of the attribute.
    public var handle: UInt16
    /// The type of the attribute.
    public var type: AttributeUUID
  }

  /// A range of handles, and the type of the attributes that are looked for.
  public struct Search: Sendable, Hashable {
    /// The first handle of the range.
    public var first: UInt16
    /// The last handle of the range.
    public var last: UInt16
    /// The type of the attributes; `nil` for all.
    public var type: AttributeUUID?
    /// The value of the attributes; `nil` for any.
    public var value: [UInt8]?
  }

  /// The server refuses a request: its opcode, the attribute and the reason.
  case error(opcode: UInt8, handle: UInt16, reason: ATTError)
  /// The longest packet that the client receives, in bytes.
  case mtuRequest(UInt16)
  /// The longest packet that the server receives, in bytes.
  case mtuResponse(UInt16)
  /// The client looks for attributes and their types.
  case informationRequest(Search)
  /// A response with attributes and their types.
  case informationResponse([TypedHandle])
  /// The client looks for attributes with a value, such as services of a kind.
  case valueSearchRequest(Search)
  /// The ranges of handles that were found.
  case valueSearchResponse([Entry])
  /// The client reads attributes of a type.
  case typeRequest(Search)
  /// A response with attributes and their values.
  case typeResponse([Entry])
  /// The client reads the groups of a type, such as services.
  case groupRequest(Search)
  /// Groups: their ranges of handles and their values.
  case groupResponse([Entry])
  /// The client reads an attribute.
  case readRequest(handle: UInt16)
  /// The value, or its beginning.
  case readResponse([UInt8])
  /// The client reads on, from an offset.
  case readBlobRequest(handle: UInt16, offset: UInt16)
  /// The rest of the value, or a part of it.
  case readBlobResponse([UInt8])
  /// The client reads several attributes; the flag says whether each value has its length before it.
  case readMultipleRequest(handles: [UInt16], hasLengths: Bool)
  /// Several values; the flag says whether each has its length before it.
  case readMultipleResponse([UInt8], hasLengths: Bool)
  /// The client writes an attribute, and waits for the response.
  case writeRequest(handle: UInt16, value: [UInt8])
  /// A response to a write that was executed.
  case writeResponse
  /// The client writes an attribute, and there is no response.
  case writeCommand(handle: UInt16, value: [UInt8])
  /// The client writes an attribute with a signature of 12 bytes at the end of the value.
  case signedWriteCommand(handle: UInt16, value: [UInt8])
  /// The client sends a part of a long value.
  case prepareRequest(handle: UInt16, offset: UInt16, value: [UInt8])
  /// The server repeats the part.
  case prepareResponse(handle: UInt16, offset: UInt16, value: [UInt8])
  /// The client ends a long write: it is performed, or cancelled.
  case executeRequest(isPerformed: Bool)
  /// The long write has ended.
  case executeResponse
  /// The server sends a value.
  case notification(handle: UInt16, value: [UInt8])
  /// The server sends several values in one packet.
  case multipleNotification([Entry])
  /// The server sends a value, and waits for the confirmation.
  case indication(handle: UInt16, value: [UInt8])
  /// The client has the value of an indication.
  case confirmation
  /// Another packet, with its opcode.
  case other(opcode: UInt8, bytes: [UInt8])

  /// Decodes a packet of the channel ``L2CAPFrame/attributes``.
  /// - Returns: `nil` for a packet that contradicts its opcode.
  public init?(_ payload: ArraySlice<UInt8>) {
    var fields = ByteReader(payload)
    guard let opcode = fields.byte() else { return nil }
    let decoded: ATTPacket?
    switch opcode {
    case 0x01...0x11: decoded = Self.discovery(opcode, &fields)
    case 0x12...0x23: decoded = Self.writing(opcode, &fields)
    case 0x52, 0xd2: decoded = Self.writing(opcode, &fields)
    default: decoded = .other(opcode: opcode, bytes: fields.all())
    }
    guard let decoded else { return nil }
    self = decoded
  }

  private static func discovery(_ opcode: UInt8, _ fields: inout ByteReader) -> ATTPacket? {
    switch opcode {
    case 0x01:
      guard let request = fields.byte(), let handle = fields.uint16(), let reason = fields.byte() else { return nil }
      return .error(opcode: request, handle: handle, reason: ATTError(rawValue: reason))
    case 0x02: return fields.uint16().map(ATTPacket.mtuRequest)
    case 0x03: return fields.uint16().map(ATTPacket.mtuResponse)
    case 0x04: return range(&fields).map { .informationRequest(Search(first: $0, last: $1)) }
    case 0x05: return information(&fields)
    case 0x06:
      guard let (first, last) = range(&fields), let type = fields.uint16() else { return nil }
      let search = Search(first: first, last: last, type: AttributeUUID(type), value: fields.all())
      return .valueSearchRequest(search)
    case 0x07: return entries(&fields, size: 4, hasEnd: true).map(ATTPacket.valueSearchResponse)
    case 0x08: return search(&fields).map(ATTPacket.typeRequest)
    case 0x09: return entries(&fields, size: fields.byte().map(Int.init), hasEnd: false).map(ATTPacket.typeResponse)
    case 0x0a: return fields.uint16().map(ATTPacket.readRequest)
    case 0x0b: return .readResponse(fields.all())
    case 0x0c:
      guard let handle = fields.uint16(), let offset = fields.uint16() else { return nil }
      return .readBlobRequest(handle: handle, offset: offset)
    case 0x0d: return .readBlobResponse(fields.all())
    case 0x0e: return .readMultipleRequest(handles: handles(&fields), hasLengths: false)
    case 0x0f: return .readMultipleResponse(fields.all(), hasLengths: false)
    case 0x10: return search(&fields).map(ATTPacket.groupRequest)
    case 0x11: return entries(&fields, size: fields.byte().map(Int.init), hasEnd: true).map(ATTPacket.groupResponse)
    default: return .other(opcode: opcode, bytes: fields.all())
    }
  }

  private static func writing(_ opcode: UInt8, _ fields: inout ByteReader) -> ATTPacket? {
    switch opcode {
    case 0x12, 0x52, 0xd2, 0x1b, 0x1d:
      guard let handle = fields.uint16() else { return nil }
      return valued(opcode, handle, fields.all())
    case 0x13: return .writeResponse
    case 0x16, 0x17:
      guard let handle = fields.uint16(), let offset = fields.uint16() else { return nil }
      let value = fields.all()
      return opcode == 0x16
        ? .prepareRequest(handle: handle, offset: offset, value: value)
        : .prepareResponse(handle: handle, offset: offset, value: value)
    case 0x18: return fields.byte().map { .executeRequest(isPerformed: $0 == 1) }
    case 0x19: return .executeResponse
    case 0x1e: return .confirmation
    case 0x20: return .readMultipleRequest(handles: handles(&fields), hasLengths: true)
    case 0x21: return .readMultipleResponse(fields.all(), hasLengths: true)
    case 0x23: return multiple(&fields)
    default: return .other(opcode: opcode, bytes: fields.all())
    }
  }

  private static func valued(_ opcode: UInt8, _ handle: UInt16, _ value: [UInt8]) -> ATTPacket {
    switch opcode {
    case 0x12: .writeRequest(handle: handle, value: value)
    case 0x52: .writeCommand(handle: handle, value: value)
    case 0xd2: .signedWriteCommand(handle: handle, value: value)
    case 0x1b: .notification(handle: handle, value: value)
    default: .indication(handle: handle, value: value)
    }
  }
}

extension ATTPacket {
  private static func range(_ fields: inout ByteReader) -> (UInt16, UInt16)? {
    guard let first = fields.uint16(), let last = fields.uint16() else { return nil }
    return (first, last)
  }

  private static func search(_ fields: inout ByteReader) -> Search? {
    guard let (first, last) = range(&fields), let type = AttributeUUID(littleEndian: fields.rest) else { return nil }
    return Search(first: first, last: last, type: type)
  }

  private static func handles(_ fields: inout ByteReader) -> [UInt16] {
    var handles: [UInt16] = []
    while let handle = fields.uint16() { handles.append(handle) }
    return handles
  }

  private static func information(_ fields: inout ByteReader) -> ATTPacket? {
    guard let format = fields.byte(), format == 1 || format == 2 else { return nil }
    var found: [TypedHandle] = []
    while let handle = fields.uint16() {
      guard let bytes = fields.bytes(format == 1 ? 2 : 16), let type = AttributeUUID(littleEndian: bytes) else {
        return nil
      }
      found.append(TypedHandle(handle: handle, type: type))
    }
    return .informationResponse(found)
  }

  /// Reads entries of one size, which includes the handles.
  private static func entries(_ fields: inout ByteReader, size: Int?, hasEnd: Bool) -> [Entry]? {
    guard let size, size >= (hasEnd ? 4 : 2) else { return nil }
    var found: [Entry] = []
    while !fields.isEmpty {
      guard let piece = fields.bytes(size) else { return nil }
      var entry = ByteReader(piece)
      guard let handle = entry.uint16(), let end = hasEnd ? entry.uint16() : handle else { return nil }
      found.append(Entry(handle: handle, end: end, value: entry.all()))
    }
    return found
  }

  private static func multiple(_ fields: inout ByteReader) -> ATTPacket? {
    var found: [Entry] = []
    while !fields.isEmpty {
      guard let handle = fields.uint16(), let length = fields.uint16(), let value = fields.bytes(Int(length)) else {
        return nil
      }
      found.append(Entry(handle: handle, end: handle, value: Array(value)))
    }
    return .multipleNotification(found)
  }
}
