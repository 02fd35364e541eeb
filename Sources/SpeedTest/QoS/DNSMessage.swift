/// The records that the DNS test queries.
package enum DNSRecordType: UInt16, Sendable, Hashable, CaseIterable {
  case a = 1
  case cname = 5
  case mx = 15
  case txt = 16
  case aaaa = 28

  /// Creates a type from its name, in letters of any case.
  package init?(_ name: String) {
    switch name.uppercased() {
    case "A": self = .a
    case "AAAA": self = .aaaa
    case "CNAME": self = .cname
    case "MX": self = .mx
    case "TXT": self = .txt
    default: return nil
    }
  }
}

/// A query of a resolver (RFC 1035).
package struct DNSQuery: Sendable, Hashable {
  /// The number of the query, which the response repeats.
  package let id: UInt16
  /// The queried name, without a dot at its end.
  package let name: String
  /// The type of the queried records.
  package let type: DNSRecordType

  /// Creates a query; `nil` for a name that none can be made of.
  package init?(id: UInt16, name: String, type: DNSRecordType) {
    let name = name.hasSuffix(".") ? String(name.dropLast()) : name
    let labels = name.split(separator: ".", omittingEmptySubsequences: false)
    guard name.utf8.count <= 253, labels.allSatisfy({ (1...63).contains($0.utf8.count) }) else { return nil }
    self.id = id
    self.name = name
    self.type = type
  }

  /// The query as it is sent, with a request for recursion.
  package var bytes: [UInt8] {
    var bytes = Self.pair(id) + [0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0]
    for label in name.split(separator: ".") { bytes += [UInt8(label.utf8.count)] + Array(label.utf8) }
    return bytes + [0] + Self.pair(type.rawValue) + [0, 1]
  }

  private static func pair(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xff)] }
}

/// The response of a resolver.
package struct DNSResponse: Sendable, Hashable {
  /// A record of the queried type.
  package struct Entry: Sendable, Hashable {
    /// The address, the name or the text.
    package let value: String
    /// The time to live in seconds.
    package let ttl: UInt32
    /// The preference of a mail server.
    package let priority: UInt16?
  }

  /// The name of the response code, such as `NOERROR` or `NXDOMAIN`.
  package let status: String
  /// A Boolean value that indicates whether the response is cut off, and to be requested over TCP.
  package let isTruncated: Bool
  /// The records of the queried type in the answer.
  package let entries: [Entry]

  /// The largest number of records that are read.
  private static let recordLimit = 200

  /// Reads the response to a query.
  /// - Returns: `nil` for bytes that are no response to this query.
  package init?(_ bytes: [UInt8], to query: DNSQuery) {
    var reader = DNSReader(bytes)
    guard let id = reader.pair(), let flags = reader.pair(), let questions = reader.pair(), let answers = reader.pair(),
      reader.pair() != nil, reader.pair() != nil, id == query.id, flags & 0x8000 != 0, questions == 1,
      let name = reader.name(), name.lowercased() == query.name.lowercased(), reader.pair() == query.type.rawValue,
      reader.pair() == 1
    else { return nil }
    status = Self.name(ofCode: flags & 0xf)
    isTruncated = flags & 0x0200 != 0
    var entries: [Entry] = []
    for _ in 0..<min(Int(answers), Self.recordLimit) {
      guard let record = reader.record() else {
        // A response that is cut off ends within a record.
        guard isTruncated else { return nil }
        break
      }
      if record.type == query.type.rawValue, let entry = Self.entry(record, query.type, bytes) { entries.append(entry) }
    }
    self.entries = entries
  }

  private static func entry(_ record: DNSReader.Record, _ type: DNSRecordType, _ bytes: [UInt8]) -> Entry? {
    let data = bytes[record.data]
    var reader = DNSReader(bytes, at: record.data.lowerBound)
    switch type {
    case .a:
      guard data.count == 4 else { return nil }
      return Entry(value: data.map { "\($0)" }.joined(separator: "."), ttl: record.ttl, priority: nil)
    case .aaaa:
      guard data.count == 16 else { return nil }
      return Entry(value: IPv6Text.of(Array(data)), ttl: record.ttl, priority: nil)
    case .cname: return reader.name().map { Entry(value: $0, ttl: record.ttl, priority: nil) }
    case .mx:
      guard let priority = reader.pair(), let name = reader.name() else { return nil }
      return Entry(value: name, ttl: record.ttl, priority: priority)
    case .txt: return Entry(value: text(Array(data)), ttl: record.ttl, priority: nil)
    }
  }

  /// The character strings of a TXT record, joined.
  private static func text(_ data: [UInt8]) -> String {
    var text: [UInt8] = []
    var rest = data[...]
    while let length = rest.popFirst() {
      text += rest.prefix(Int(length))
      rest = rest.dropFirst(Int(length))
    }
    return String(decoding: text.prefix(4096), as: UTF8.self)
  }

  private static func name(ofCode code: UInt16) -> String {
    let names = ["NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"]
    return names.indices.contains(Int(code)) ? names[Int(code)] : "RCODE\(code)"
  }
}

/// A reader of the parts of a DNS message, which never reads beyond its end.
struct DNSReader {
  struct Record {
    var type: UInt16
    var ttl: UInt32
    var data: Range<Int>
  }

  private let bytes: [UInt8]
  private var offset: Int

  init(_ bytes: [UInt8], at offset: Int = 0) {
    self.bytes = bytes
    self.offset = offset
  }

  mutating func pair() -> UInt16? {
    guard offset + 2 <= bytes.count else { return nil }
    defer { offset += 2 }
    return UInt16(bytes[offset]) << 8 | UInt16(bytes[offset + 1])
  }

  /// Reads a name, following the pointers to earlier parts of the message.
  mutating func name() -> String? {
    var labels: [String] = []
    var length = 0
    var place = offset
    var end: Int?
    // Each pointer has to go back, so that no message leads around in circles.
    var limit = offset
    while place < bytes.count {
      let byte = Int(bytes[place])
      switch byte {
      case 0:
        offset = end ?? place + 1
        return labels.joined(separator: ".")
      case 1...63:
        length += byte + 1
        guard place + 1 + byte <= bytes.count, length <= 254 else { return nil }
        labels.append(String(decoding: bytes[(place + 1)...(place + byte)], as: UTF8.self))
        place += 1 + byte
      case 192...255:
        guard place + 1 < bytes.count else { return nil }
        end = end ?? place + 2
        place = (byte & 63) << 8 | Int(bytes[place + 1])
        guard place < limit else { return nil }
        limit = place
      default: return nil
      }
    }
    return nil
  }

  mutating func record() -> Record? {
    guard name() != nil, let type = pair(), pair() != nil, let high = pair(), let low = pair(), let length = pair(),
      offset + Int(length) <= bytes.count
    else { return nil }
    defer { offset += Int(length) }
    return Record(type: type, ttl: UInt32(high) << 16 | UInt32(low), data: offset..<(offset + Int(length)))
  }
}

/// The text of an IPv6 address (RFC 5952).
package enum IPv6Text {
  /// Returns the text of 16 bytes.
  package static func of(_ bytes: [UInt8]) -> String {
    let groups = stride(from: 0, to: 15, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
    var longest = 0..<0
    var start = 0
    while start < 8 {
      var end = start
      while end < 8, groups[end] == 0 { end += 1 }
      if end - start > max(longest.count, 1) { longest = start..<end }
      start = max(end, start + 1)
    }
    func text(_ part: ArraySlice<UInt16>) -> String { part.map { String($0, radix: 16) }.joined(separator: ":") }
    if longest.isEmpty { return text(groups[...]) }
    return text(groups[..<longest.lowerBound]) + "::" + text(groups[longest.upperBound...])
  }
}
