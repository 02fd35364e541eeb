/// A question of the Domain Name System and its answer, in the wire format of RFC 1035.
enum DNSMessage {
  /// The types of records that contain an address.
  enum RecordType: UInt16 {
    case address4 = 1
    case address6 = 28
  }

  /// Returns the question for the addresses of a host; `nil` if the name is not one of a host.
  ///
  /// The number of the message is 0, as RFC 8484 recommends: HTTP matches answers to questions.
  static func question(_ host: String, _ type: RecordType) -> [UInt8]? {
    var name: [UInt8] = []
    for label in host.split(separator: ".", omittingEmptySubsequences: false) {
      guard (1...63).contains(label.utf8.count), label.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else { return nil }
      name.append(UInt8(label.utf8.count))
      name += label.utf8
    }
    guard name.count < 255 else { return nil }
    // Recursion desired, one question; class Internet.
    return [0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0] + name + [0, 0, UInt8(type.rawValue), 0, 1]
  }

  /// Returns the first address of an answer as text; `nil` if there is none, or the answer is malformed.
  static func address(in answer: [UInt8], _ type: RecordType) -> String? {
    guard answer.count >= 12, answer[2] & 0x80 != 0, answer[3] & 0x0f == 0 else { return nil }
    var place = 12
    for _ in 0..<(Int(answer[4]) << 8 | Int(answer[5])) {
      guard let end = endOfName(answer, place) else { return nil }
      place = end + 4
    }
    for _ in 0..<(Int(answer[6]) << 8 | Int(answer[7])) {
      guard let start = endOfName(answer, place), start + 10 <= answer.count else { return nil }
      let kind = UInt16(answer[start]) << 8 | UInt16(answer[start + 1])
      let length = Int(answer[start + 8]) << 8 | Int(answer[start + 9])
      place = start + 10 + length
      guard place <= answer.count else { return nil }
      let data = answer[(start + 10)..<place]
      if kind == type.rawValue, length == (type == .address4 ? 4 : 16) { return text(of: Array(data)) }
    }
    return nil
  }

  private static func endOfName(_ bytes: [UInt8], _ start: Int) -> Int? {
    var place = start
    while place < bytes.count {
      switch bytes[place] {
      case 0: return place + 1
      // A pointer to a name elsewhere ends this one; that name does not matter here.
      case 0xc0...: return place + 2
      case 1...63: place += 1 + Int(bytes[place])
      default: return nil
      }
    }
    return nil
  }

  private static func text(of address: [UInt8]) -> String {
    if address.count == 4 { return address.map { "\($0)" }.joined(separator: ".") }
    return stride(from: 0, to: 16, by: 2)
      .map { String(UInt16(address[$0]) << 8 | UInt16(address[$0 + 1]), radix: 16) }.joined(separator: ":")
  }
}
