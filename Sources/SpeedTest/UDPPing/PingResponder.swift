/// The responder to pings over UDP: it answers a datagram with a valid token by one that is smaller.
package struct PingResponder: Sendable {
  /// The answers to a datagram.
  package enum Answer: Sendable, Hashable {
    /// The reply to a valid token.
    case reply([UInt8])
    /// The reply to a token that was made for another address.
    case refusal([UInt8])
    /// None, for what is no request or has a token that no key has made, or at another time.
    case none
  }

  private let keys: [SpeedTestKey]?

  /// The size of a request in bytes: the kind, the number and a token of the second form.
  package static let requestSize = 24
  /// The seconds by which a token may be early.
  static let earliest: Int64 = 30
  /// The seconds for which a token is valid.
  static let latest: Int64 = 14_400

  /// Creates a responder.
  /// - Parameter keys: The keys, any of which may have made a token; `nil` for an open server, which accepts any token.
  package init(keys: [SpeedTestKey]?) { self.keys = keys }

  /// Returns the answer to a datagram.
  /// - Parameters:
  ///   - request: The datagram.
  ///   - address: The address that it came from, 16 bytes.
  ///   - seconds: The present time in seconds since 1970.
  package func answer(to request: [UInt8], from address: [UInt8], seconds: Int64) -> Answer {
    guard request.count == Self.requestSize, request.starts(with: "RP01".utf8) else { return .none }
    let number = Array(request[4..<8])
    guard let keys else { return .reply(Self.bytes("RR01", number)) }
    guard let token = SpeedTestToken.v2Parts(Array(request[8...]), keys: keys, address: address),
      (-Self.earliest...Self.latest).contains(seconds - token.seconds)
    else { return .none }
    return token.isForAddress ? .reply(Self.bytes("RR01", number)) : .refusal(Self.bytes("RE01", number))
  }

  private static func bytes(_ kind: String, _ number: [UInt8]) -> [UInt8] { Array(kind.utf8) + number }
}
