internal import CSodium

/// A box that anybody can seal to a public key and only its owner can open (`crypto_box_seal`).
enum SealedBox {
  /// The bytes that a sealed box is longer than its contents: a public key of 32 and a tag of 16.
  static let overhead = crypto_box_sealbytes()

  /// Seals bytes to a key.
  static func seal(_ bytes: UnsafeRawBufferPointer, to key: BoxPublicKey) throws(MessageSendingError) -> [UInt8] {
    try Sodium.start()
    var box = [UInt8](repeating: 0, count: bytes.count + overhead)
    let result = crypto_box_seal(
      &box, bytes.baseAddress!.assumingMemoryBound(to: UInt8.self), UInt64(bytes.count), key.bytes)
    guard result == 0 else { throw MessageSendingError(.cryptography, "nothing can be sealed to the public key") }
    return box
  }

  /// Opens a box; the contents are secret until somebody says otherwise.
  /// - Throws: ``MessageSendingError`` with code `.cannotOpen` if it was sealed to another key, or changed.
  static func open(_ box: [UInt8], with key: BoxSecretKey) throws(MessageSendingError) -> SecretBytes {
    guard box.count >= overhead else { throw .cannotOpen }
    return try SecretBytes(count: box.count - overhead) { memory throws(MessageSendingError) in
      let result = key.secret.withPointer { secret in
        crypto_box_seal_open(memory.firstByte, box, UInt64(box.count), key.publicKey.bytes, secret)
      }
      guard result == 0 else { throw .cannotOpen }
    }
  }
}

/// A box for two recipients, either of whom opens it: a message key sealed to each, and the contents under that key.
enum TwoRecipientBox {
  private static let keyByteCount = Int(crypto_secretbox_KEYBYTES)
  private static let wrappedByteCount = keyByteCount + SealedBox.overhead
  private static let tagByteCount = Int(crypto_secretbox_MACBYTES)
  /// Zeros: each message has a key of its own.
  private static let nonce = [UInt8](repeating: 0, count: Int(crypto_secretbox_NONCEBYTES))
  /// The bytes that the box is longer than its contents, 176.
  static let overhead = 2 * wrappedByteCount + tagByteCount

  /// Seals bytes to two keys, in this order.
  static func seal(
    _ bytes: UnsafeRawBufferPointer, to first: BoxPublicKey, _ second: BoxPublicKey
  ) throws(MessageSendingError) -> [UInt8] {
    let key = try SecretBytes(randomCount: keyByteCount)
    let wrapped = try key.withBytes { key throws(MessageSendingError) in
      try SealedBox.seal(key, to: first) + SealedBox.seal(key, to: second)
    }
    var contents = [UInt8](repeating: 0, count: bytes.count + tagByteCount)
    let result = key.withPointer { key in
      crypto_secretbox_easy(
        &contents, bytes.baseAddress!.assumingMemoryBound(to: UInt8.self), UInt64(bytes.count), nonce, key)
    }
    guard result == 0 else { throw MessageSendingError(.cryptography, "the message could not be encrypted") }
    return wrapped + contents
  }

  /// Opens a box with the key of either recipient.
  /// - Throws: ``MessageSendingError`` with code `.cannotOpen`.
  static func open(_ box: [UInt8], with key: BoxSecretKey) throws(MessageSendingError) -> SecretBytes {
    guard box.count >= overhead else { throw .cannotOpen }
    let messageKey: SecretBytes
    do throws(MessageSendingError) {
      messageKey = try SealedBox.open(Array(box[..<wrappedByteCount]), with: key)
    } catch  where error.code == .cannotOpen {
      messageKey = try SealedBox.open(Array(box[wrappedByteCount..<2 * wrappedByteCount]), with: key)
    }
    let contents = Array(box[(2 * wrappedByteCount)...])
    return try SecretBytes(count: contents.count - tagByteCount) { memory throws(MessageSendingError) in
      let result = messageKey.withPointer { key in
        crypto_secretbox_open_easy(memory.firstByte, contents, UInt64(contents.count), nonce, key)
      }
      guard result == 0 else { throw .cannotOpen }
    }
  }
}

extension MessageSendingError {
  /// The error for a box that is not for the key, or was changed; which of the two, nobody can tell.
  static var cannotOpen: MessageSendingError {
    MessageSendingError(.cannotOpen, "the box is not for this key, or was changed")
  }
}
