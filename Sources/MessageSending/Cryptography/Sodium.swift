internal import CSodium

/// The functions of libsodium that messages need, on arrays.
enum Sodium {
  private static let isStarted = sodium_init() >= 0

  /// Starts the library once, which chooses its random generator.
  static func start() throws(MessageSendingError) {
    guard isStarted else { throw MessageSendingError(.cryptography, "libsodium did not start") }
  }

  /// Returns bytes of a generator that is fit for keys.
  static func random(_ count: Int) throws(MessageSendingError) -> [UInt8] {
    try start()
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      if count > 0 { randombytes_buf(buffer.baseAddress!, count) }
      initialized = count
    }
  }

  /// The size of a SHA-256, 32 bytes.
  static let sha256ByteCount = Int(crypto_hash_sha256_BYTES)

  /// Returns the SHA-256 of bytes, 32 bytes.
  static func sha256(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    let bytes = Array(bytes)
    var digest = [UInt8](repeating: 0, count: sha256ByteCount)
    crypto_hash_sha256(&digest, bytes, UInt64(bytes.count))
    return digest
  }

  /// Returns the HMAC-SHA-256 of bytes, 32 bytes.
  static func hmac(_ secret: SecretBytes, _ bytes: [UInt8]) -> [UInt8] {
    var state = crypto_auth_hmacsha256_state()
    secret.withBytes { secret in
      _ = crypto_auth_hmacsha256_init(&state, secret.baseAddress!.assumingMemoryBound(to: UInt8.self), secret.count)
    }
    crypto_auth_hmacsha256_update(&state, bytes, UInt64(bytes.count))
    var code = [UInt8](repeating: 0, count: Int(crypto_auth_hmacsha256_BYTES))
    crypto_auth_hmacsha256_final(&state, &code)
    sodium_memzero(&state, MemoryLayout<crypto_auth_hmacsha256_state>.size)
    return code
  }

  /// Compares bytes in a time that depends only on their number.
  static func areEqual(_ one: some Collection<UInt8>, _ other: some Collection<UInt8>) -> Bool {
    let (one, other) = (Array(one), Array(other))
    return one.count == other.count && sodium_memcmp(one, other, one.count) == 0
  }
}

/// Overwrites bytes that were secret with zeros, which no optimization leaves out.
func wipe(_ bytes: inout [UInt8]) {
  bytes.withUnsafeMutableBytes { bytes in
    if let start = bytes.baseAddress { sodium_memzero(start, bytes.count) }
  }
}
