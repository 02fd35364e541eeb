/// Follows the records of a recording, and returns what happened.
///
/// ```swift
/// var reader = BtsnoopReader()
/// var decoder = TrafficDecoder()
/// reader.append(bytes)  // the content of a file, or its next piece
/// while let record = try reader.next() {
///   for event in decoder.handle(record) {
///     if case .disconnected(let reason) = event.kind { print(reason) }
///   }
/// }
/// ```
///
/// It remembers the connections that exist, and the attributes that were found at up to 64 servers; besides, nothing
/// grows with the length of a recording.
public struct TrafficDecoder: Sendable {
  struct Place: Hashable {
    var adapter: UInt16
    var handle: UInt16
  }

  var links: [Place: LinkState] = [:]
  var tables: [AttributeServer: AttributeTable] = [:]
  /// The servers in the order in which they were found.
  var servers: [AttributeServer] = []
  /// The identities behind private addresses, as pairing shows them.
  var identities: [DeviceAddress: DeviceAddress] = [:]
  /// The device that each adapter is connecting to.
  var connecting: [UInt16: DeviceAddress] = [:]
  var lastNumber = 0
  private var drops = 0
  /// The events of the present record.
  var events: [TrafficEvent] = []

  static let linkLimit = 64
  static let serverLimit = 64
  static let identityLimit = 256

  /// Creates a decoder at the beginning of a recording.
  public init() {}

  /// Returns the attributes that were found at a server up to now.
  public func table(of server: AttributeServer) -> AttributeTable { tables[key(server)] ?? AttributeTable() }

  /// The connections that exist now, by their numbers.
  public var openLinks: [Link] { links.values.map(\.link).sorted { $0.number < $1.number } }

  /// Handles the next record of a recording.
  /// - Returns: What happened by it, in order.
  public mutating func handle(_ record: CaptureRecord) -> [TrafficEvent] {
    events.removeAll(keepingCapacity: true)
    if record.drops > drops { emit(record, nil, .lost(record.drops - drops)) }
    drops = record.drops
    switch record.kind {
    case .sentData, .receivedData: data(record)
    case .event: event(record)
    case .command: command(record)
    case .newIndex: newIndex(record)
    case .indexInformation: identify(record)
    case .deletedIndex:
      forget(record.adapter)
      emit(record, nil, .adapterRemoved)
    case .closedIndex: forget(record.adapter)
    case .systemNote:
      emit(record, nil, .note(String(decoding: record.bytes.prefix { $0 != 0 }, as: UTF8.self)))
    default: break
    }
    return events
  }

  /// Ends the recording, and returns the remaining events.
  /// - Returns: The requests without a response.
  public mutating func finish(at time: Int64) -> [TrafficEvent] {
    events.removeAll(keepingCapacity: true)
    for place in links.sorted(by: { $0.value.link.number < $1.value.link.number }).map(\.key) {
      endOperations(CaptureRecord(time: time, adapter: place.adapter, kind: .event, bytes: []), place)
    }
    return events
  }

  mutating func emit(_ record: CaptureRecord, _ link: Link?, _ kind: TrafficEvent.Kind) {
    events.append(TrafficEvent(time: record.time, adapter: record.adapter, link: link, kind: kind))
  }

  /// Kind, bus, address and name of an added controller.
  private mutating func newIndex(_ record: CaptureRecord) {
    var fields = ByteReader(record.bytes)
    guard fields.bytes(2) != nil, let address = DeviceAddress(&fields, kind: 0) else {
      return emit(record, nil, .malformed("new index"))
    }
    let name = String(decoding: fields.rest.prefix { $0 != 0 }, as: UTF8.self)
    emit(record, nil, .adapterAdded(address.octets.allSatisfy { $0 == 0 } ? nil : address, name: name))
  }

  /// Address and manufacturer of a controller whose address was not known when it was added.
  private mutating func identify(_ record: CaptureRecord) {
    var fields = ByteReader(record.bytes)
    guard let address = DeviceAddress(&fields, kind: 0) else {
      return emit(record, nil, .malformed("index information"))
    }
    if address.octets.contains(where: { $0 != 0 }) { emit(record, nil, .adapterIdentified(address)) }
  }

  /// An adapter that is closed or removed has no connections.
  private mutating func forget(_ adapter: UInt16) {
    for place in links.keys where place.adapter == adapter { links[place] = nil }
    connecting[adapter] = nil
  }

  // MARK: Servers

  /// The name of a server by which its table is kept: one for all addresses of a device.
  func key(_ server: AttributeServer) -> AttributeServer {
    guard case .device(let address) = server else { return server }
    return .device(identity(of: address))
  }

  /// Returns the address of a device that does not change, as far as the recording shows it.
  public func identity(of address: DeviceAddress) -> DeviceAddress {
    let plain = address.asOnAir
    return identities[plain] ?? plain
  }

  /// Changes the table of a server.
  /// - Returns: The result of the change.
  mutating func change<Result>(_ server: AttributeServer, _ body: (inout AttributeTable) -> Result) -> Result {
    let key = key(server)
    if tables[key] == nil {
      tables[key] = AttributeTable()
      servers.append(key)
      if servers.count > Self.serverLimit { tables[servers.removeFirst()] = nil }
    }
    return body(&tables[key, default: AttributeTable()])
  }

  func server(_ link: Link, isClientHost: Bool) -> AttributeServer {
    guard isClientHost else { return .host(adapter: link.adapter) }
    return link.peer.map { .device(identity(of: $0)) } ?? .unknown(link: link.number)
  }
}
