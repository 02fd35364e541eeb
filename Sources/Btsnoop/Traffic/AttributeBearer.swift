/// The Attribute Protocol on one channel of a connection: joins responses to their requests.
struct AttributeBearer: Sendable {
  /// A request that waits for its response; one at a time in each direction.
  private struct Pending: Sendable {
    var packet: ATTPacket
    var time: Int64
  }

  /// What a packet means; the events of the caller are made from it.
  enum Outcome {
    case operation(
      AttributeOperation.Kind, handle: UInt16, offset: Int, value: [UInt8], AttributeOperation.Outcome, since: Int64)
    case services([AttributeTable.Service])
    case characteristics([AttributeTable.Characteristic])
    case descriptors([AttributeTable.Descriptor])
    case mtu(Int)
    case value(handle: UInt16, [UInt8], isIndication: Bool)
    case confirmation
  }

  /// By the direction of the request: from this host, or from the peer.
  private var pending: [Bool: Pending] = [:]

  /// Handles a packet.
  /// - Returns: What it means, and whether the client of the exchange is this host.
  mutating func handle(_ packet: ATTPacket, isFromHost: Bool, at time: Int64) -> (
    outcomes: [Outcome], isClientHost: Bool
  ) {
    switch packet {
    case .mtuRequest, .informationRequest, .valueSearchRequest, .typeRequest, .groupRequest, .readRequest,
      .readBlobRequest, .readMultipleRequest, .writeRequest, .prepareRequest, .executeRequest:
      pending[isFromHost] = Pending(packet: packet, time: time)
      return ([], isFromHost)
    case .writeCommand(let handle, let value):
      return ([.operation(.writeCommand, handle: handle, offset: 0, value: value, .done, since: time)], isFromHost)
    case .signedWriteCommand(let handle, let value):
      return ([.operation(.signedWrite, handle: handle, offset: 0, value: value, .done, since: time)], isFromHost)
    case .notification(let handle, let value):
      return ([.value(handle: handle, value, isIndication: false)], !isFromHost)
    case .multipleNotification(let entries):
      return (entries.map { .value(handle: $0.handle, $0.value, isIndication: false) }, !isFromHost)
    case .indication(let handle, let value):
      return ([.value(handle: handle, value, isIndication: true)], !isFromHost)
    case .confirmation: return ([.confirmation], isFromHost)
    case .other: return ([], isFromHost)
    default:
      guard let request = pending.removeValue(forKey: !isFromHost) else { return ([], !isFromHost) }
      return (Self.outcomes(of: packet, to: request.packet, since: request.time), !isFromHost)
    }
  }

  /// The operations that have no response yet, when the connection ends.
  mutating func end() -> [(outcome: Outcome, isClientHost: Bool)] {
    defer { pending = [:] }
    return pending.sorted { $0.value.time < $1.value.time }.compactMap { isFromHost, request in
      Self.operation(request.packet, .unanswered, since: request.time).map { ($0, isFromHost) }
    }
  }

  private static func outcomes(of response: ATTPacket, to request: ATTPacket, since: Int64) -> [Outcome] {
    switch (request, response) {
    case (_, .error(_, _, let reason)):
      return operation(request, .refused(reason), since: since).map { [$0] } ?? []
    case (.mtuRequest(let client), .mtuResponse(let server)): return [.mtu(max(23, Int(min(client, server))))]
    case (.readRequest(let handle), .readResponse(let value)):
      return [.operation(.read, handle: handle, offset: 0, value: value, .done, since: since)]
    case (.readBlobRequest(let handle, let offset), .readBlobResponse(let value)):
      return [.operation(.readBlob, handle: handle, offset: Int(offset), value: value, .done, since: since)]
    case (.readMultipleRequest(let handles, _), .readMultipleResponse(let bytes, let hasLengths)):
      return several(handles, bytes, hasLengths, since)
    case (.writeRequest, .writeResponse), (.executeRequest, .executeResponse), (.prepareRequest, .prepareResponse):
      return operation(request, .done, since: since).map { [$0] } ?? []
    case (.informationRequest, .informationResponse(let found)):
      return [.descriptors(found.map { .init(handle: $0.handle, uuid: $0.type) })]
    case (.groupRequest(let search), .groupResponse(let entries)): return groups(search, entries)
    case (.valueSearchRequest(let search), .valueSearchResponse(let entries)):
      guard let value = search.value, let uuid = AttributeUUID(littleEndian: value) else { return [] }
      return groups(search, entries.map { .init(handle: $0.handle, end: $0.end, value: uuid.littleEndian) })
    case (.typeRequest(let search), .typeResponse(let entries)):
      if search.type == .characteristic { return [.characteristics(entries.compactMap(AttributeTable.characteristic))] }
      if search.type == .include { return [] }
      return entries.map {
        .operation(.readByType, handle: $0.handle, offset: 0, value: $0.value, .done, since: since)
      }
    default: return []
    }
  }

  private static func groups(_ search: ATTPacket.Search, _ entries: [ATTPacket.Entry]) -> [Outcome] {
    guard search.type == .primaryService || search.type == .secondaryService else { return [] }
    let isPrimary = search.type == .primaryService
    return [
      .services(
        entries.compactMap { entry in
          AttributeUUID(littleEndian: entry.value).map {
            .init(handle: entry.handle, end: entry.end, uuid: $0, isPrimary: isPrimary)
          }
        })
    ]
  }

  /// Values without lengths cannot be told apart, but for one.
  private static func several(_ handles: [UInt16], _ bytes: [UInt8], _ hasLengths: Bool, _ since: Int64) -> [Outcome] {
    var fields = ByteReader(bytes)
    return handles.compactMap { handle in
      let length = hasLengths ? fields.uint16().map(Int.init) : handles.count == 1 ? bytes.count : nil
      guard let length, let value = fields.bytes(length) else { return nil }
      return .operation(.read, handle: handle, offset: 0, value: Array(value), .done, since: since)
    }
  }

  /// The operation of a request with an outcome that has no value; `nil` for a discovery, which ends by a refusal.
  private static func operation(
    _ request: ATTPacket, _ outcome: AttributeOperation.Outcome, since: Int64
  ) -> Outcome? {
    switch request {
    case .readRequest(let handle):
      return .operation(.read, handle: handle, offset: 0, value: [], outcome, since: since)
    case .readBlobRequest(let handle, let offset):
      return .operation(.readBlob, handle: handle, offset: Int(offset), value: [], outcome, since: since)
    case .readMultipleRequest(let handles, _):
      return .operation(.read, handle: handles.first ?? 0, offset: 0, value: [], outcome, since: since)
    case .writeRequest(let handle, let value):
      return .operation(.write, handle: handle, offset: 0, value: value, outcome, since: since)
    case .prepareRequest(let handle, let offset, let value):
      return .operation(.prepareWrite, handle: handle, offset: Int(offset), value: value, outcome, since: since)
    case .executeRequest(let isPerformed):
      return .operation(
        .executeWrite, handle: 0, offset: 0, value: [isPerformed ? 1 : 0], outcome, since: since)
    default: return nil
    }
  }
}
