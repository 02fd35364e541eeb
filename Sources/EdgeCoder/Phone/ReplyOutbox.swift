/// A reply to send to a central.
struct PhoneReply: Sendable, Equatable {
  var peer: PeerID
  var bytes: [UInt8]
  /// A Boolean value that indicates whether the reply refuses a request that was not queued.
  var isRefusal: Bool
}

/// The replies that wait to be sent, and the one being sent: one after another, chunk by chunk.
///
/// ``next(at:chunkSize:)`` returns an action; the caller performs it and reports the result.
struct ReplyOutbox: Sendable {
  enum Action: Equatable {
    case nothing
    case wait(until: Duration)
    case send(chunk: [UInt8], of: PhoneReply)
  }

  let refusalLimit: Int
  let refusalsPerPeer: Int
  private var pacer: Pacer
  private var replies: [PhoneReply] = []
  /// The number of bytes of the first reply that were sent.
  private var sent = 0
  /// The number of bytes of the first reply in the pending chunk.
  private var inFlight = 0
  /// A Boolean value that indicates whether the first reply is dropped after its pending chunk.
  private var isAbandoned = false

  init(refusalLimit: Int, refusalsPerPeer: Int = .max, interval: Duration) {
    self.refusalLimit = refusalLimit
    self.refusalsPerPeer = refusalsPerPeer
    pacer = Pacer(interval: interval)
  }

  var count: Int { replies.count }

  /// The number of replies that are not refusals.
  var answers: Int { replies.count { !$0.isRefusal } }

  /// Queues a reply.
  /// - Returns: `false` for a refusal over the limit for all, or for its central.
  mutating func add(_ reply: PhoneReply) -> Bool {
    if reply.isRefusal {
      let refusals = replies.filter(\.isRefusal)
      guard refusals.count < refusalLimit, refusals.count(where: { $0.peer == reply.peer }) < refusalsPerPeer else {
        return false
      }
    }
    replies.append(reply)
    return true
  }

  /// Returns the next action. The chunk size is read for each chunk, because the MTU may change within a reply.
  mutating func next(at now: Duration, chunkSize: (PeerID) -> Int) -> Action {
    guard let reply = replies.first, inFlight == 0 else { return .nothing }
    let size = min(chunkSize(reply.peer), reply.bytes.count - sent)
    let due = pacer.earliest(whole: size == reply.bytes.count, at: now)
    guard due <= now else { return .wait(until: due) }
    inFlight = size
    return .send(chunk: Array(reply.bytes[sent..<sent + size]), of: reply)
  }

  /// Records that the chunk was sent.
  /// - Returns: The reply if that was its last chunk.
  mutating func didSend(at now: Duration) -> PhoneReply? {
    guard let reply = replies.first, inFlight > 0 else { return nil }
    pacer.didSend(whole: inFlight == reply.bytes.count, at: now)
    sent += inFlight
    inFlight = 0
    if isAbandoned {
      removeFirst()
      return nil
    }
    guard sent == reply.bytes.count else { return nil }
    removeFirst()
    return reply
  }

  /// Records that the chunk could not be sent, and drops the rest of its reply.
  mutating func didFail() {
    guard !replies.isEmpty else { return }
    removeFirst()
  }

  /// Drops the replies to one peer; with `nil`, all replies.
  /// - Parameter finishing: A Boolean value that indicates whether a reply in progress is sent to its end, because others
  ///   receive it, too, and a part of an object would corrupt the next one.
  /// - Returns: The number of replies dropped.
  mutating func drop(_ peer: PeerID?, finishing: Bool) -> Int {
    var dropped = 0
    if let first = replies.first, peer == nil || first.peer == peer, !isAbandoned {
      if inFlight > 0 {
        if !finishing {
          isAbandoned = true
          dropped += 1
        }
      } else if sent == 0 || !finishing {
        removeFirst()
        dropped += 1
      }
    }
    let keep = sent > 0 || inFlight > 0 ? 1 : 0
    let before = replies.count
    replies = replies.prefix(keep) + replies.dropFirst(keep).filter { peer != nil && $0.peer != peer }
    return dropped + before - replies.count
  }

  private mutating func removeFirst() {
    replies.removeFirst()
    sent = 0
    inFlight = 0
    isAbandoned = false
  }
}
