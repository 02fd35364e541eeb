/// The messages and covers of a queue, head first, each with its hint: always ``capacity`` of each.
///
/// The messages of one secret are a prefix; after it come covers with random hints.
struct QueueContents: Sendable, Hashable {
  /// The number of items, which never changes.
  static let capacity = 8

  private(set) var items: [SealedMessage]
  private(set) var hints: [MessageHint]

  /// Creates a queue of covers.
  init(covers: any CoverSource) throws(MessageSendingError) {
    items = []
    hints = []
    for _ in 0..<Self.capacity {
      items.append(try covers.cover())
      hints.append(try .random())
    }
  }

  /// Creates a queue from items and hints, ``capacity`` of each.
  init(checkedItems items: [SealedMessage], hints: [MessageHint]) {
    self.items = items
    self.hints = hints
  }

  var head: SealedMessage { items[0] }

  /// The number of messages before the first item that is not of this secret.
  func fillLevel(secret: SecretBytes) -> Int {
    zip(items, hints).prefix { item, hint in
      Sodium.areEqual(MessageHint(of: item, secret: secret).bytes, hint.bytes)
    }.count
  }

  /// Puts a message in the place of the first cover.
  mutating func append(_ message: SealedMessage, secret: SecretBytes) throws(MessageSendingError) -> MessageHint {
    let place = fillLevel(secret: secret)
    guard place < Self.capacity else {
      throw MessageSendingError(
        .queueIsFull, "the queue holds \(Self.capacity) messages", hint: "the next ones are sent within hours")
    }
    let hint = MessageHint(of: message, secret: secret)
    items[place] = message
    hints[place] = hint
    return hint
  }

  /// Removes the head and appends a cover, if the head is the message that was sent: it may have been overwritten
  /// meanwhile, and what overwrote it has not been sent.
  mutating func removeHead(
    ifEqualTo message: SealedMessage, appending cover: SealedMessage
  ) throws(MessageSendingError) -> Bool {
    guard head == message else { return false }
    let hint = try MessageHint.random()
    items.removeFirst()
    hints.removeFirst()
    items.append(cover)
    hints.append(hint)
    return true
  }
}
