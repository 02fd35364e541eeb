/// The messages and covers of a queue, head first, each with its hint: always ``capacity`` of each.
///
/// The messages of one secret are a prefix; after it come covers with random hints. A cover that was being sent when the
/// first of them was queued stays in front of them until it was sent.
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

  /// The number of messages of this secret.
  func fillLevel(secret: SecretBytes) -> Int { places(secret: secret).count }

  /// The places of the messages of this secret: from the head on, or behind one cover.
  func places(secret: SecretBytes) -> Range<Int> {
    func isMessage(_ place: Int) -> Bool {
      Sodium.areEqual(MessageHint(of: items[place], secret: secret).bytes, hints[place].bytes)
    }
    let first = !isMessage(0) && isMessage(1) ? 1 : 0
    return first..<(first + (first..<Self.capacity).prefix(while: isMessage).count)
  }

  /// Puts a message in the place of the first cover.
  /// - Parameter isHeadTaken: Whether somebody has seen the head already, so that it must not be replaced.
  mutating func append(
    _ message: SealedMessage, secret: SecretBytes, isHeadTaken: Bool = false
  ) throws(MessageSendingError) -> MessageHint {
    let places = places(secret: secret)
    let place = places.isEmpty && isHeadTaken ? 1 : places.upperBound
    guard place < Self.capacity else {
      throw MessageSendingError(
        .queueIsFull, "the queue holds \(places.count) messages", hint: "the next ones are sent within hours")
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
