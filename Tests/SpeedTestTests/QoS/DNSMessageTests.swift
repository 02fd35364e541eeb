import Testing

@testable import SpeedTest

/// Queries and responses of resolvers.
@Suite("DNS messages") struct DNSMessageTests {
  private static func query(_ type: DNSRecordType = .a) throws -> DNSQuery {
    try #require(DNSQuery(id: 0x1234, name: "www.example.org.", type: type))
  }

  /// A response to a query with records, each as its owner, type and data.
  private static func response(
    _ query: DNSQuery, flags: UInt16 = 0x8180,
    _ records: [(owner: [UInt8], type: UInt16, data: [UInt8])]
  ) -> [UInt8] {
    var bytes = query.bytes
    bytes[2] = UInt8(flags >> 8)
    bytes[3] = UInt8(flags & 0xff)
    bytes[7] = UInt8(records.count)
    for record in records {
      bytes += record.owner
      bytes += [0, UInt8(record.type), 0, 1, 0, 0, 1, 44, 0, UInt8(record.data.count)]
      bytes += record.data
    }
    return bytes
  }

  private static let pointer: [UInt8] = [0xc0, 12]

  @Test("A query has the name in labels, the type, and asks for recursion") func queries() throws {
    let bytes = try Self.query(.mx).bytes
    let head: [UInt8] = [0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    var name: [UInt8] = [3]
    name += Array("www".utf8) + [7]
    name += Array("example".utf8) + [3]
    name += Array("org".utf8) + [0]
    #expect(Array(bytes.prefix(12)) == head)
    #expect(Array(bytes[12...]) == name + [0, 15, 0, 1])
    #expect(DNSQuery(id: 0, name: "a..b", type: .a) == nil)
    #expect(DNSQuery(id: 0, name: String(repeating: "a", count: 64) + ".org", type: .a) == nil)
    #expect(DNSQuery(id: 0, name: String(repeating: "a.", count: 200), type: .a) == nil)
    #expect(DNSQuery(id: 0, name: "", type: .a) == nil)
    #expect(DNSRecordType("aaaa") == .aaaa)
    #expect(DNSRecordType("SRV") == nil)
  }

  @Test("Records of the queried type are read, also behind an alias") func records() throws {
    let query = try Self.query()
    var alias: [UInt8] = [5]
    alias += Array("alias".utf8)
    alias += Self.pointer
    let bytes = Self.response(
      query, [(Self.pointer, 5, alias), (alias, 1, [192, 0, 2, 7]), (alias, 1, [192, 0, 2])])
    let response = try #require(DNSResponse(bytes, to: query))
    #expect(response.status == "NOERROR")
    #expect(response.entries == [.init(value: "192.0.2.7", ttl: 300, priority: nil)])
    let names = try Self.query(.cname)
    #expect(
      DNSResponse(Self.response(names, [(Self.pointer, 5, alias)]), to: names)?.entries.first?.value
        == "alias.www.example.org")
    let mail = try Self.query(.mx)
    let entry = try #require(
      DNSResponse(Self.response(mail, [(Self.pointer, 15, [0, 10] + alias)]), to: mail)?.entries
        .first)
    #expect(entry.priority == 10)
    #expect(entry.value == "alias.www.example.org")
    let text = try Self.query(.txt)
    var strings: [UInt8] = [2]
    strings += Array("ab".utf8) + [200]
    strings += Array("cd".utf8)
    #expect(
      DNSResponse(Self.response(text, [(Self.pointer, 16, strings)]), to: text)?.entries.first?
        .value == "abcd")
    let long = try Self.query(.aaaa)
    var address: [UInt8] = [0x20, 1, 0xd, 0xb8]
    address += [UInt8](repeating: 0, count: 11) + [7]
    #expect(
      DNSResponse(Self.response(long, [(Self.pointer, 28, address)]), to: long)?.entries.first?
        .value == "2001:db8::7")
  }

  @Test(
    "The code of a response is its status",
    arguments: [(0, "NOERROR"), (3, "NXDOMAIN"), (5, "REFUSED"), (9, "RCODE9")])
  func codes(code: UInt16, status: String) throws {
    let query = try Self.query()
    #expect(
      DNSResponse(Self.response(query, flags: 0x8180 | code, []), to: query)?.status == status)
  }

  @Test("What is no response to the query is none") func others() throws {
    let query = try Self.query()
    let good = Self.response(query, [(Self.pointer, 1, [192, 0, 2, 7])])
    #expect(DNSResponse(good, to: query) != nil)
    for length in 0..<good.count { #expect(DNSResponse(Array(good[..<length]), to: query) == nil) }
    #expect(DNSResponse(query.bytes, to: query) == nil)
    #expect(DNSResponse(good, to: try Self.query(.mx)) == nil)
    let other = try #require(DNSQuery(id: 0x1234, name: "www.example.net", type: .a))
    #expect(DNSResponse(good, to: other) == nil)
    let number = try #require(DNSQuery(id: 1, name: "www.example.org", type: .a))
    #expect(DNSResponse(good, to: number) == nil)
  }

  @Test("A response that is cut off says so, and pointers in circles end") func cutOff() throws {
    let query = try Self.query()
    let whole = Self.response(query, flags: 0x8380, [(Self.pointer, 1, [192, 0, 2, 7])])
    #expect(DNSResponse(Array(whole.dropLast(3)), to: query)?.isTruncated == true)
    let circle: [UInt8] = [0xc0, UInt8(query.bytes.count)]
    #expect(DNSResponse(Self.response(query, [(circle, 1, [192, 0, 2, 7])]), to: query) == nil)
  }

  @Test(
    "IPv6 addresses have their shortest text",
    arguments: [
      ([0, 0, 0, 0, 0, 0, 0, 0], "::"), ([0, 0, 0, 0, 0, 0, 0, 1], "::1"),
      ([1, 0, 0, 2, 0, 0, 0, 3], "1:0:0:2::3"),
      ([1, 0, 3, 4, 5, 6, 7, 8], "1:0:3:4:5:6:7:8"),
      ([0x2001, 0xdb8, 0, 0, 1, 0, 0, 1], "2001:db8::1:0:0:1"),
    ])
  func texts(groups: [Int], text: String) {
    #expect(IPv6Text.of(groups.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] }) == text)
  }
}
