/// A reader of the cipher suite in the first message of a TLS server, which is not encrypted (RFC 8446, 4.1.3).
package struct TLSServerHello: Sendable {
  private var bytes: [UInt8] = []
  private var isOver = false
  /// The number of the cipher suite, as soon as the server has named it.
  package private(set) var cipher: UInt16?

  /// The bytes before the session identifier: the headers of the record and the message, the version and the random.
  private static let head = 5 + 4 + 2 + 32

  /// Creates a reader for the beginning of a connection.
  package init() {}

  /// Reads bytes of the server; what follows its first message is ignored.
  package mutating func receive(_ more: some Collection<UInt8>) {
    guard !isOver else { return }
    bytes += more.prefix(Self.head + 1 + 32 + 2 - bytes.count)
    // A record of the handshake, and the message Server Hello in it.
    guard bytes.first == 22 || bytes.isEmpty, bytes.count <= 5 || bytes[5] == 2 else { return end() }
    guard bytes.count > Self.head else { return }
    let length = Int(bytes[Self.head])
    guard length <= 32 else { return end() }
    let start = Self.head + 1 + length
    guard bytes.count >= start + 2 else { return }
    cipher = UInt16(bytes[start]) << 8 | UInt16(bytes[start + 1])
    end()
  }

  private mutating func end() {
    isOver = true
    bytes = []
  }

  /// The name of the cipher suite in the registry of IANA, or its number; `nil` before the server has named it.
  package var cipherName: String? {
    cipher.map { cipher in
      if let name = Self.names[cipher] { return name }
      let digits = String(cipher, radix: 16, uppercase: true)
      return "0x" + String(repeating: "0", count: 4 - digits.count) + digits
    }
  }

  /// The suites of TLS 1.3, and those of TLS 1.2 with forward secrecy that clients offer.
  private static let names: [UInt16: String] = [
    0x1301: "TLS_AES_128_GCM_SHA256", 0x1302: "TLS_AES_256_GCM_SHA384", 0x1303: "TLS_CHACHA20_POLY1305_SHA256",
    0xc02b: "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", 0xc02c: "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    0xc02f: "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", 0xc030: "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    0xcca8: "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", 0xcca9: "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
  ]
}
