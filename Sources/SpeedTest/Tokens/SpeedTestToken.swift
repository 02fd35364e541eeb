internal import Crypto
package import FoundationEssentials

/// The forms of a token that authorises a client at a server.
public enum SpeedTestTokenForm: String, Sendable, Hashable, CaseIterable {
  /// A UUID and a time with an HMAC-SHA1; every server accepts this form, also behind address translation.
  case v1
  /// A time with an HMAC-SHA256 that also covers the client's address.
  case v2
  /// Both forms in one line; an older server reads the first, a newer one the second.
  case combined
}

/// The making and the verification of tokens.
package enum SpeedTestToken {
  /// The seconds by which a token may be early: the server waits for that long before it accepts it.
  package static let earliest: Int64 = 20
  /// The seconds after its time for which a token is valid.
  package static let latest: Int64 = 90
  static let marker = "_#v2#"

  /// Returns a token of a form.
  /// - Parameters:
  ///   - form: The form of the token.
  ///   - key: The key that client and server share.
  ///   - uuid: The identifier of the test, which the first form contains.
  ///   - seconds: The start of the validity, in seconds since 1970.
  ///   - address: The client's address as the server sees it, 16 bytes, which the second form covers.
  package static func make(
    _ form: SpeedTestTokenForm, key: SpeedTestKey, uuid: UUID, seconds: Int64, address: [UInt8]
  ) -> String {
    let first = v1(key, "\(uuid.uuidString.lowercased())_\(seconds)")
    let second = v2(key, UInt32(clamping: seconds), address)
    return switch form {
    case .v1: first
    case .v2: second
    case .combined: first + marker + second
    }
  }

  /// Returns the verdict on a token.
  ///
  /// Of a combined token the second form alone counts.
  /// - Parameters:
  ///   - token: The token as it was received.
  ///   - keys: The keys, any of which may have made the token.
  ///   - seconds: The present time in seconds since 1970.
  ///   - address: The client's address, 16 bytes.
  package static func verify(
    _ token: String, keys: [SpeedTestKey], seconds: Int64, address: [UInt8]
  ) -> TokenVerdict {
    guard let time = time(of: token, keys, address) else { return .rejected }
    let age = seconds - time
    guard (-earliest...latest).contains(age) else { return .rejected }
    return .accepted(delay: .seconds(max(0, -age)))
  }

  /// The time in a token that one of the keys has made.
  private static func time(of token: String, _ keys: [SpeedTestKey], _ address: [UInt8]) -> Int64? {
    let forms = token.split(separator: marker, maxSplits: 1)
    if forms.count == 2 { return v2Time(String(forms[1]), keys, address) }
    return v1Time(token, keys) ?? v2Time(token, keys, address)
  }

  private static func v1Time(_ token: String, _ keys: [SpeedTestKey]) -> Int64? {
    let parts = token.split(separator: "_", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 3, parts[0].count == 36, UUID(uuidString: parts[0]) != nil,
      parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let time = Int64(parts[1]),
      let code = Data(base64Encoded: parts[2])
    else { return nil }
    let message = Data("\(parts[0])_\(parts[1])".utf8)
    let isValid = keys.contains {
      HMAC<Insecure.SHA1>.isValidAuthenticationCode(code, authenticating: message, using: $0.secret)
    }
    return isValid ? time : nil
  }

  private static func v2Time(_ token: String, _ keys: [SpeedTestKey], _ address: [UInt8]) -> Int64? {
    guard let bytes = Data(base64Encoded: token).map(Array.init),
      let parts = v2Parts(bytes, keys: keys, address: address), parts.isForAddress
    else { return nil }
    return parts.seconds
  }

  /// Returns the time in the bytes of a token of the second form, and whether it was made for an address; `nil` for one
  /// that none of the keys has made.
  static func v2Parts(
    _ token: [UInt8], keys: [SpeedTestKey], address: [UInt8]
  ) -> (seconds: Int64, isForAddress: Bool)? {
    guard token.count == 16 else { return nil }
    let time = token[..<4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    // In constant time, so that an attacker learns nothing from how long a comparison takes.
    func isSame(_ made: [UInt8], _ range: Range<Int>) -> Bool {
      range.reduce(UInt8(0)) { $0 | (made[$1] ^ token[$1]) } == 0
    }
    let made = keys.map { v2Bytes($0, time, address) }.filter { isSame($0, 4..<12) }
    guard !made.isEmpty else { return nil }
    return (Int64(time), made.contains { isSame($0, 12..<16) })
  }

  private static func v1(_ key: SpeedTestKey, _ head: String) -> String {
    let code = HMAC<Insecure.SHA1>.authenticationCode(for: Data(head.utf8), using: key.secret)
    return "\(head)_\(Data(code).base64EncodedString())"
  }

  private static func v2(_ key: SpeedTestKey, _ time: UInt32, _ address: [UInt8]) -> String {
    Data(v2Bytes(key, time, address)).base64EncodedString()
  }

  private static func v2Bytes(_ key: SpeedTestKey, _ time: UInt32, _ address: [UInt8]) -> [UInt8] {
    let moment =
      [UInt8(truncatingIfNeeded: time >> 24), UInt8(truncatingIfNeeded: time >> 16)]
      + [UInt8(truncatingIfNeeded: time >> 8), UInt8(truncatingIfNeeded: time)]
    func code(_ message: [UInt8], _ length: Int) -> [UInt8] {
      Array(HMAC<SHA256>.authenticationCode(for: message, using: key.secret).prefix(length))
    }
    return moment + code(moment, 8) + code(moment + address, 4)
  }
}
