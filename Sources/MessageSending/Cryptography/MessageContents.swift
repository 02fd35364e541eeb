/// The 597 bytes inside a sealed message: the tag of a recipient, and a box for that recipient, or random bytes.
struct MessageContents {
  static let byteCount = SealedMessage.byteCount - TwoRecipientBox.overhead
  static let tagByteCount = 4
  /// The tag of a cover, which no recipient has.
  static let coverTag: [UInt8] = [0, 0, 0, 0]
  /// The box for the recipient: a public key of the user, a reserved byte, and the padded text.
  static let boxByteCount = BoxPublicKey.byteCount + 1 + PaddedText.byteCount + SealedBox.overhead

  let tag: [UInt8]
  let box: [UInt8]

  /// Returns the tag of a recipient: the first four bytes of the SHA-256 of the identifier.
  static func tag(of recipient: String) -> [UInt8] { Array(Sodium.sha256(recipient.utf8).prefix(tagByteCount)) }

  /// Creates the contents of a cover.
  init() throws(MessageSendingError) {
    tag = Self.coverTag
    box = try Sodium.random(Self.boxByteCount)
  }

  /// Creates the contents of a message.
  init(_ text: String, tag: [UInt8], to recipient: BoxPublicKey, from user: BoxPublicKey) throws(MessageSendingError) {
    self.tag = tag
    var letter = user.bytes + [0] + (try PaddedText.bytes(text))
    defer { wipe(&letter) }
    box = try letter.withRawBytes { bytes throws(MessageSendingError) in try SealedBox.seal(bytes, to: recipient) }
  }

  /// Opens a sealed message with the key of either node.
  init(_ message: SealedMessage, with node: BoxSecretKey) throws(MessageSendingError) {
    let contents = try TwoRecipientBox.open(message.bytes, with: node)
    tag = contents.withBytes { Array($0.prefix(Self.tagByteCount)) }
    box = contents.withBytes { Array($0.dropFirst(Self.tagByteCount)) }
  }

  /// Returns the message that is sent.
  func sealed(to first: BoxPublicKey, _ second: BoxPublicKey) throws(MessageSendingError) -> SealedMessage {
    var bytes = tag + box
    defer { wipe(&bytes) }
    return SealedMessage(
      checked: try bytes.withRawBytes { bytes throws(MessageSendingError) in
        try TwoRecipientBox.seal(bytes, to: first, second)
      })
  }

  /// Opens the box for the recipient.
  func letter(with recipient: BoxSecretKey) throws(MessageSendingError) -> (user: BoxPublicKey, text: String) {
    let letter = try SealedBox.open(box, with: recipient)
    var bytes = letter.withBytes { Array($0) }
    defer { wipe(&bytes) }
    let user = try BoxPublicKey(bytes: Array(bytes.prefix(BoxPublicKey.byteCount)))
    return (user, try PaddedText.text(Array(bytes.dropFirst(BoxPublicKey.byteCount + 1))))
  }
}
