/// One reply on its way to a central.
struct PhoneReply: Sendable, Equatable {
  var peer: PeerID
  var bytes: [UInt8]
  /// Whether it refuses a request instead of answering it.
  var isRefusal: Bool
}

/// The replies that wait to be sent, and the one being sent: strictly one after another, chunk by chunk.
///
/// A value type: ``next(at:chunkSize:)`` says what to do, the caller does it and reports back.
struct ReplyOutbox: Sendable {
  enum Step: Equatable {
    case nothing
    case wait(until: Duration)
    case send(chunk: [UInt8], of: PhoneReply)
  }

  let refusalLimit: Int
  let refusalsPerPeer: Int
  private var pacer: Pacer
  private var replies: [PhoneReply] = []
  /// Bytes of the first reply sent so far.
  private var sent = 0
  /// Bytes of the first reply handed out and not reported back yet.
  private var inFlight = 0
  /// Whether the first reply is to be dropped once its chunk is reported back.
  private var isAbandoned = false

  init(refusalLimit: Int, refusalsPerPeer: Int = .max, interval: Duration) {
    self.refusalLimit = refusalLimit
    self.refusalsPerPeer = refusalsPerPeer
    pacer = Pacer(interval: interval)
  }

  var count: Int { replies.count }

  /// Replies that are not refusals.
  var answers: Int { replies.count { !$0.isRefusal } }

  /// Queues a reply.
  /// - Returns: false when it is a refusal and too many of them wait, or too many for the same central.
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

  /// What to do now. The chunk size is asked for each chunk, as the MTU may change in the middle of a reply.
  mutating func next(at now: Duration, chunkSize: (PeerID) -> Int) -> Step {
    guard let reply = replies.first, inFlight == 0 else { return .nothing }
    let size = min(chunkSize(reply.peer), reply.bytes.count - sent)
    let due = pacer.earliest(whole: size == reply.bytes.count, at: now)
    guard due <= now else { return .wait(until: due) }
    inFlight = size
    return .send(chunk: Array(reply.bytes[sent..<sent + size]), of: reply)
  }

  /// The chunk went out.
  /// - Returns: the reply, when that was its last chunk.
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

  /// The chunk could not be sent: the rest of its reply is dropped.
  mutating func didFail() {
    guard !replies.isEmpty else { return }
    removeFirst()
  }

  /// Drops the replies to one peer, or to all.
  /// - Parameter finishing: whether a reply of which chunks went out is to be sent to its end, because others hear it
  ///   too and a part of an object would spoil what follows it.
  /// - Returns: how many replies were dropped.
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
