/// A scanner that finds JSON objects in a byte stream without lengths and terminators.
///
/// The scanner makes one pass over the bytes, O(n), wherever the stream is split: within a number, an escape or a UTF-8
/// character, with several objects in one chunk, or with white space between them. The scanner only finds the end of an
/// object (depth, strings, escapes); decoding the object is left to the caller.
///
/// Input that is not an object is discarded with a reason, and the scanner resynchronizes:
///
/// - **Between objects** everything but white space is discarded up to the next `{` whose first token is a string. A `{}`
///   does not resynchronize the scanner, because program text is full of it.
/// - **Inside an object** a control character in a string, or a byte outside strings that no JSON token contains, shows
///   that bytes were lost. The rest is discarded as above. If the malformed byte follows `{"`, these two count as the
///   start of the next object, as after a message that was truncated within a string.
/// - **Too large**: an object over the limit is followed to its end and not stored.
/// - **Idle**: an object that does not grow for the idle limit is discarded.
///
/// The caller supplies the instants of one monotonic clock, for example of `TimeSource`.
///
/// ```swift
/// var scanner = JSONObjectScanner()
/// for event in scanner.receive(Array(#"{"a": 1} {"b""#.utf8), at: .zero) {
///   if case .object(let bytes) = event { print(String(decoding: bytes, as: UTF8.self)) }  // {"a": 1}
/// }
/// print(scanner.isIdle)  // false: a second object has started
/// ```
public struct JSONObjectScanner: Sendable {
  /// The events that a chunk of the stream causes.
  public enum Event: Sendable, Hashable {
    /// A complete object, from `{` to `}`.
    case object([UInt8])
    /// Bytes that were discarded, with the reason.
    case refused(Refusal)
  }

  /// A run of bytes that the scanner discarded.
  public struct Refusal: Sendable, Hashable {
    /// The reasons why the scanner discards bytes.
    public enum Reason: Sendable, Hashable {
      /// The object exceeds the size limit; the rest of it is skipped without another event.
      case tooLarge
      /// Bytes between two objects that start no object.
      case notAnObject
      /// Bytes within an object that are not JSON.
      case malformed
      /// The object did not grow for the idle limit.
      case idle
    }
    /// The reason why the bytes were discarded.
    public var reason: Reason
    /// The number of discarded bytes received so far.
    public var bytes: Int
    /// The first bytes of an incomplete object, at most ``JSONObjectScanner/headLimit``; empty outside objects.
    ///
    /// ``Wire/recoverID(fromHead:)`` finds the identifier of the message in it.
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

  /// The limit on ``Refusal/head``, 1024 bytes.
  public static let headLimit = 1024

  /// The limit on one object in bytes.
  public let sizeLimit: Int
  /// The time after which an incomplete object that does not grow is discarded.
  public let idleLimit: Duration

  enum Phase: Equatable {
    /// Before an object, after white space only.
    case between
    /// In discarded bytes, before the next object.
    case skipping
    /// After a `{` that may start an object.
    case opened(fromGarbage: Bool)
    /// In an object, outside strings.
    case tokens
    /// In a string of an object.
    case string
    /// In a string, after a backslash.
    case escape
  }

  var phase = Phase.between
  /// The number of open braces of the current object.
  var depth = 0
  /// The bytes of the current object from earlier chunks; empty while the object is discarded.
  var buffer: [UInt8] = []
  /// A Boolean value that indicates whether the current object was refused and is only followed to its end.
  var isDiscarding = false
  /// The current run of discarded bytes.
  var garbage = Refusal(.notAnObject, bytes: 0)
  /// The last two bytes of the stream before the present chunk.
  var previousBytes: (lastButOne: UInt8, last: UInt8) = (0, 0)
  private var lastReceived = Duration.zero

  /// Creates a scanner at the start of a stream.
  /// - Parameters:
  ///   - sizeLimit: The limit on one object in bytes; less than 2 counts as 2. Default: ``Wire/messageLimit``.
  ///   - idleLimit: The time after which an incomplete object that does not grow is discarded. Default:
  ///     ``Wire/idleLimit``.
  public init(sizeLimit: Int = Wire.messageLimit, idleLimit: Duration = Wire.idleLimit) {
    self.sizeLimit = max(2, sizeLimit)
    self.idleLimit = idleLimit
  }

  /// A Boolean value that indicates whether the scanner is between two objects, with nothing to discard.
  public var isIdle: Bool { phase == .between }

  /// The instant at which ``expire(at:)`` has something to discard; `nil` between objects.
  public var deadline: Duration? { isIdle ? nil : lastReceived + idleLimit }

  /// Scans the next chunk of the stream and returns its events in the order of the stream.
  /// - Parameters:
  ///   - piece: The next bytes, split anywhere.
  ///   - now: The present instant of the monotonic clock.
  /// - Returns: The objects that the chunk completes, and the discarded bytes.
  public mutating func receive(_ piece: [UInt8], at now: Duration) -> [Event] {
    piece.withUnsafeBytes { receive($0, at: now) }
  }

  /// Scans the next chunk of the stream from memory of the caller; see ``receive(_:at:)-([UInt8],_)``.
  public mutating func receive(_ piece: UnsafeRawBufferPointer, at now: Duration) -> [Event] {
    var events: [Event] = []
    if let expired = expire(at: now) { events.append(.refused(expired)) }
    guard piece.count > 0 else { return events }
    lastReceived = now
    scan(piece, &events)
    previousBytes = (piece.count > 1 ? piece[piece.count - 2] : previousBytes.last, piece[piece.count - 1])
    return events
  }

  /// Discards an incomplete object that did not grow for the idle limit.
  ///
  /// ``receive(_:at:)-([UInt8],_)`` calls this method; a caller with a timer frees the memory sooner.
  /// - Returns: The discarded bytes; `nil` if nothing was due, or if the object was reported before.
  public mutating func expire(at now: Duration) -> Refusal? {
    guard let deadline, now >= deadline else { return nil }
    let wasDiscarding = isDiscarding
    let refusal = phase == .skipping ? garbage : Refusal(.idle, buffer[...])
    reset()
    return wasDiscarding ? nil : refusal
  }

  /// Discards all state, for example when the peer disconnects.
  /// - Returns: The number of discarded bytes of an incomplete object.
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
