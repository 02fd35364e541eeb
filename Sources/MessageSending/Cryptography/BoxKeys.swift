internal import CSodium

/// A public key that boxes are sealed to (X25519), 32 bytes.
public struct BoxPublicKey: Sendable, Hashable {
  /// The size of a public key, 32 bytes.
  public static let byteCount = 32

  /// The bytes of the key, exactly ``byteCount``.
  public let bytes: [UInt8]

  /// Creates a key from its bytes.
  /// - Throws: ``MessageSendingError`` with code `.invalidArgument` for another number of bytes, and for the few points
  ///   to which nothing can be sealed, such as zero.
  public init(bytes: [UInt8]) throws(MessageSendingError) {
    try checkSize(of: "the public key", bytes.count, Self.byteCount)
    self.bytes = bytes
    try Sodium.start()
    // Fails for a point of low order, whatever is multiplied with it.
    var product = [UInt8](repeating: 0, count: Self.byteCount)
    guard crypto_scalarmult(&product, Sodium.sha256([]), bytes) == 0 else {
      throw MessageSendingError(.invalidArgument, "the public key is a point of low order")
    }
  }
}

/// A secret key that opens boxes (X25519), with its public key.
///
/// ```swift
/// let key = try BoxSecretKey()
/// print(key.publicKey.bytes.count)  // 32
/// ```
public struct BoxSecretKey: Sendable {
  /// The size of a secret key, 32 bytes.
  public static let byteCount = 32

  /// The bytes of the key, exactly ``byteCount``.
  public let secret: SecretBytes
  /// The key that boxes for this one are sealed to.
  public let publicKey: BoxPublicKey

  /// Creates a new random key.
  /// - Throws: ``MessageSendingError`` with code `.cryptography` when memory runs out.
  public init() throws(MessageSendingError) { try self.init(SecretBytes(randomCount: Self.byteCount)) }

  /// Creates a key from its bytes.
  /// - Throws: ``MessageSendingError`` with code `.invalidArgument` for another number of bytes.
  public init(_ secret: SecretBytes) throws(MessageSendingError) {
    try checkSize(of: "the secret key", secret.count, Self.byteCount)
    var bytes = [UInt8](repeating: 0, count: BoxPublicKey.byteCount)
    let result = secret.withPointer { crypto_scalarmult_base(&bytes, $0) }
    guard result == 0 else { throw MessageSendingError(.cryptography, "the secret key has no public key") }
    self.secret = secret
    publicKey = try BoxPublicKey(bytes: bytes)
  }
}

extension SecretBytes {
  /// Calls a closure with a pointer to the first byte, as libsodium takes it.
  func withPointer<R>(_ body: (UnsafePointer<UInt8>) -> R) -> R {
    withBytes { body($0.baseAddress!.assumingMemoryBound(to: UInt8.self)) }
  }
}

extension UnsafeMutableRawBufferPointer {
  /// The first byte, as libsodium takes it.
  var firstByte: UnsafeMutablePointer<UInt8> { baseAddress!.assumingMemoryBound(to: UInt8.self) }
}

extension [UInt8] {
  /// Calls a closure with the bytes, which must not leave it.
  func withRawBytes<R>(
    _ body: (UnsafeRawBufferPointer) throws(MessageSendingError) -> R
  ) throws(MessageSendingError) -> R {
    try withUnsafeBufferPointer { bytes throws(MessageSendingError) in try body(UnsafeRawBufferPointer(bytes)) }
  }
}
