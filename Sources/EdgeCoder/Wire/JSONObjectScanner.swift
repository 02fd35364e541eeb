/// Finds JSON objects in a stream of bytes that carries no lengths and no terminators.
///
/// One pass over the bytes, O(n), however the stream is cut: in the middle of a number, an escape or a UTF-8 character,
/// with several objects in one piece, or with white space between them. The scanner looks for the end of an object
/// (depth, strings, escapes); whether the object *means* something is for the decoder to say.
///
/// What is not an object is refused with a reason, and the scanner finds its way back:
///
/// - **Between objects** everything but white space is garbage, up to the next `{` whose first token is a string. (A
///   `{}` does not end garbage: program text is full of it.)
/// - **Inside an object** a control character in a string, or outside strings a byte no JSON token holds, shows that
///   bytes were lost. The rest is garbage as above; but when the offending byte follows `{"`, these two are taken for
///   the start of the next object, as happens when a message is cut off in a string and another one follows.
/// - **Too large**: an object over the limit is followed to its end without being kept.
/// - **Idle**: an object that does not grow for the idle limit is thrown away.
///
/// A value type without a clock: the caller supplies instants of one monotonic clock (`DBus.TimeSource`).
public struct JSONObjectScanner: Sendable {
  /// What a piece of the stream led to.
  public enum Event: Sendable, Hashable {
    /// A complete object, from its `{` to its `}`.
    case object([UInt8])
    /// Bytes that were thrown away.
    case refused(Refusal)
  }

  /// Bytes that were thrown away, and why.
  public struct Refusal: Sendable, Hashable {
    /// Why bytes were thrown away.
    public enum Reason: Sendable, Hashable {
      /// The object is over the size limit. What follows of it is skipped without another event.
      case tooLarge
      /// Bytes between objects that begin none.
      case notAnObject
      /// Bytes within an object that no JSON holds.
      case malformed
      /// The object stood still for the idle limit.
      case idle
    }
    /// Why.
    public var reason: Reason
    /// How many bytes were thrown away, as far as they had come.
    public var bytes: Int
    /// The first bytes of an object that came in part, at most ``JSONObjectScanner/headLimit``: enough to tell whose it
    /// is (``Wire/recoverID(fromHead:)``). Empty when the bytes were in no object.
    public var head: [UInt8]

    init(_ reason: Reason, bytes: Int, head: [UInt8] = []) {
      self.reason = reason
      self.bytes = bytes
      self.head = head
    }

    init(_ reason: Reason, _ object: ArraySlice<UInt8>) {
      self.init(reason, bytes: object.count, head: Array(object.prefix(JSONObjectScanner.headLimit)))
    }
  }

  /// The most bytes of a refused object handed back with the refusal.
  public static let headLimit = 1024

  /// The most bytes an object may have.
  public let sizeLimit: Int
  /// How long an object may stand still.
  public let idleLimit: Duration

  enum Phase: Equatable {
    /// Before an object, nothing but white space so far.
    case between
    /// In garbage, looking for the next object.
    case skipping
    /// After a `{` that may begin an object.
    case opened(fromGarbage: Bool)
    /// In an object, outside strings.
    case tokens
    /// In a string of an object.
    case string
    /// In a string, after a backslash.
    case escape
  }

  var phase = Phase.between
  /// Braces open in the current object.
  var depth = 0
  /// What came of the current object in earlier pieces; empty while it is only being followed to its end.
  var buffer: [UInt8] = []
  /// Whether the current object was refused already and is followed to its end only.
  var isDiscarding = false
  /// The current garbage.
  var garbage = Refusal(.notAnObject, bytes: 0)
  /// The last two bytes of the stream before the present piece.
  var previousBytes: (lastButOne: UInt8, last: UInt8) = (0, 0)
  private var lastReceived = Duration.zero

  /// Makes a scanner.
  /// - Parameters:
  ///   - sizeLimit: the most bytes an object may have, ``Wire/messageLimit`` unless said otherwise; at least 2.
  ///   - idleLimit: how long a started object may stand still, ``Wire/idleLimit`` unless said otherwise.
  public init(sizeLimit: Int = Wire.messageLimit, idleLimit: Duration = Wire.idleLimit) {
    self.sizeLimit = max(2, sizeLimit)
    self.idleLimit = idleLimit
  }

  /// Whether part of an object, or garbage, is held.
  public var isIdle: Bool { phase == .between }

  /// When ``expire(at:)`` has something to throw away; `nil` between objects.
  public var deadline: Duration? { isIdle ? nil : lastReceived + idleLimit }

  /// Takes the next piece of the stream.
  /// - Parameters:
  ///   - piece: the bytes, cut anywhere.
  ///   - now: the present instant of the caller's monotonic clock.
  /// - Returns: what the piece completed or what was thrown away, in the order of the stream.
  public mutating func receive(_ piece: [UInt8], at now: Duration) -> [Event] {
    piece.withUnsafeBytes { receive($0, at: now) }
  }

  /// Takes the next piece of the stream from memory the caller owns; see ``receive(_:at:)-([UInt8],_)``.
  public mutating func receive(_ piece: UnsafeRawBufferPointer, at now: Duration) -> [Event] {
    var events: [Event] = []
    if let expired = expire(at: now) { events.append(.refused(expired)) }
    guard piece.count > 0 else { return events }
    lastReceived = now
    scan(piece, &events)
    previousBytes = (piece.count > 1 ? piece[piece.count - 2] : previousBytes.last, piece[piece.count - 1])
    return events
  }

  /// Throws away an object, or garbage, that stood still for the idle limit.
  ///
  /// ``receive(_:at:)-([UInt8],_)`` does so by itself; a caller with a timer frees the memory sooner.
  /// - Returns: what was thrown away; `nil` when nothing was due, or when it had been reported before.
  public mutating func expire(at now: Duration) -> Refusal? {
    guard let deadline, now >= deadline else { return nil }
    let wasDiscarding = isDiscarding
    let refusal = phase == .skipping ? garbage : Refusal(.idle, buffer[...])
    reset()
    return wasDiscarding ? nil : refusal
  }

  /// Forgets everything, for example on disconnect.
  /// - Returns: the bytes of an unfinished object that were thrown away.
  @discardableResult
  public mutating func reset() -> Int {
    let dropped = buffer.count
    phase = .between
    depth = 0
    buffer = []
    isDiscarding = false
    garbage = Refusal(.notAnObject, bytes: 0)
    return dropped
  }
}
