import Btsnoop

/// Makes the records of a connection, as a host has them.
struct Conversation {
  static let peer: [UInt8] = [0x42, 0, 0, 1, 0xaa, 0]
  static let address = DeviceAddress("00:AA:01:00:00:42")!

  private(set) var records: [CaptureRecord] = []
  private var time: Int64 = 1_700_000_000_000_000
  var handle: UInt16 = 1
  var adapter: UInt16 = 0
  /// The longest piece of data, in bytes.
  var piece = 251

  /// Milliseconds between two records.
  mutating func wait(_ milliseconds: Int64) { time += milliseconds * 1000 }

  mutating func add(_ kind: CaptureRecord.Kind, _ bytes: [UInt8]) {
    time += 1000
    records.append(CaptureRecord(time: time, adapter: adapter, kind: kind, bytes: bytes))
  }

  mutating func command(_ opcode: UInt16, _ parameters: [UInt8]) {
    add(.command, bytes(opcode) + [UInt8(parameters.count)] + parameters)
  }

  mutating func event(_ code: UInt8, _ parameters: [UInt8]) {
    add(.event, [code, UInt8(parameters.count)] + parameters)
  }

  /// The connection is made, with this host as the central.
  mutating func connect(to peer: [UInt8] = peer, isCentral: Bool = true, kind: UInt8 = 0) {
    event(0x3e, [0x01, 0] + bytes(handle) + [isCentral ? 0 : 1, kind] + peer + bytes(40) + bytes(0) + bytes(42) + [0])
  }

  mutating func disconnect(_ reason: UInt8 = 0x16) { event(0x05, [0] + bytes(handle) + [reason]) }

  /// A packet of a channel, in pieces.
  mutating func send(_ channel: UInt16, _ payload: [UInt8], fromHost: Bool = true) {
    var rest = (bytes(UInt16(payload.count)) + bytes(channel) + payload)[...]
    var flags: UInt16 = fromHost ? 0 : 2
    repeat {
      let part = rest.prefix(piece)
      rest = rest.dropFirst(piece)
      add(fromHost ? .sentData : .receivedData, bytes(handle | flags << 12) + bytes(UInt16(part.count)) + part)
      flags = 1
    } while !rest.isEmpty
  }

  /// An exchange of the Attribute Protocol.
  mutating func attributes(_ request: [UInt8], _ response: [UInt8]? = nil, fromHost: Bool = true) {
    send(L2CAPFrame.attributes, request, fromHost: fromHost)
    if let response { send(L2CAPFrame.attributes, response, fromHost: !fromHost) }
  }

  /// The discovery of a heart rate service: handles 10 to 13, with its configuration at 13.
  mutating func discover() {
    attributes([0x10, 1, 0, 0xff, 0xff, 0, 0x28], [0x11, 6, 10, 0, 20, 0, 0x0d, 0x18])
    attributes([0x08, 10, 0, 20, 0, 3, 0x28], [0x09, 7, 11, 0, 0x10, 12, 0, 0x37, 0x2a])
    attributes([0x04, 13, 0, 20, 0], [0x05, 1, 13, 0, 2, 0x29])
  }

  /// What a decoder makes of the records.
  func events(_ decoder: inout TrafficDecoder) -> [TrafficEvent] { records.flatMap { decoder.handle($0) } }

  var events: [TrafficEvent] {
    var decoder = TrafficDecoder()
    return events(&decoder)
  }
}

func bytes(_ number: UInt16) -> [UInt8] { [UInt8(truncatingIfNeeded: number), UInt8(number >> 8)] }

extension [TrafficEvent] {
  var operations: [AttributeOperation] {
    compactMap { if case .operation(let operation) = $0.kind { operation } else { nil } }
  }

  var values: [[UInt8]] {
    compactMap { if case .value(_, let value, _, _) = $0.kind { value } else { nil } }
  }
}
