internal import CSodium

/// The public key that the user pins, and with which recipients' keys have to be signed (Ed25519), 32 bytes.
public struct RootKey: Sendable, Hashable {
  /// The size of a root key, 32 bytes.
  public static let byteCount = 32

  /// The bytes of the key, exactly ``byteCount``.
  public let bytes: [UInt8]

  /// Creates a key from its bytes.
  /// - Throws: ``MessageSendingError`` with code `.invalidArgument` for another number of bytes.
  public init(bytes: [UInt8]) throws(MessageSendingError) {
    try checkSize(of: "the root key", bytes.count, Self.byteCount)
    self.bytes = bytes
  }

  /// Returns `true` if the signature, 64 bytes, is one of this key over the bytes.
  func isSignature(_ signature: [UInt8], of bytes: [UInt8]) throws(MessageSendingError) -> Bool {
    try Sodium.start()
    guard signature.count == Int(crypto_sign_BYTES) else { return false }
    return crypto_sign_verify_detached(signature, bytes, UInt64(bytes.count), self.bytes) == 0
  }
}

/// The secret key that signs recipients' keys (Ed25519), made from a seed of 32 bytes.
public struct RootSecretKey: Sendable {
  /// The size of the seed, 32 bytes.
  public static let byteCount = Int(crypto_sign_SEEDBYTES)

  /// The seed that the key is made from; what has to be stored.
  public let seed: SecretBytes
  /// The key that users pin.
  public let publicKey: RootKey
  private let secret: SecretBytes

  /// Creates a key from its seed.
  /// - Throws: ``MessageSendingError`` with code `.invalidArgument` for a seed of another size.
  public init(seed: SecretBytes) throws(MessageSendingError) {
    try checkSize(of: "the seed", seed.count, Self.byteCount)
    var bytes = [UInt8](repeating: 0, count: RootKey.byteCount)
    secret = try SecretBytes(count: Int(crypto_sign_SECRETKEYBYTES)) { memory throws(MessageSendingError) in
      let result = seed.withPointer { crypto_sign_seed_keypair(&bytes, memory.firstByte, $0) }
      guard result == 0 else { throw MessageSendingError(.cryptography, "the seed makes no key") }
    }
    self.seed = seed
    publicKey = try RootKey(bytes: bytes)
  }

  /// Returns the signature over bytes, 64 bytes.
  func signature(of bytes: [UInt8]) -> [UInt8] {
    var signature = [UInt8](repeating: 0, count: Int(crypto_sign_BYTES))
    _ = secret.withPointer { crypto_sign_detached(&signature, nil, bytes, UInt64(bytes.count), $0) }
    return signature
  }
}
