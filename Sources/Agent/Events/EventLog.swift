import Timing
public import Streams

/// The newest events in memory, and some more in a file: one JSON object a line.
///
/// Each event is in the file when ``append(_:_:)`` returns, and survives `kill -9`. When the file is full it takes the
/// place of the one before, so that there are never more than two.
public final class EventLog: Sendable {
  /// How many events are kept in memory.
  public static let memoryLimit = 512
  /// The largest file, in bytes: 256 KiB, some two thousand events.
  public static let fileLimit = 256 * 1024
  /// The longest text of an event, in characters; the rest is cut off.
  static let textLimit = 1000

  private struct State {
    var events: [AgentEvent] = []
    var count = 0
    var unwritten = 0
    var problem: AgentError?
    /// Whether the file may end in the middle of a line.
    var isTorn = true
  }

  /// Where the events are; those before are in the same place with `.1` behind it. `nil` keeps none on disk.
  public let path: String?
  private let wallClock: @Sendable () -> Int64
  private let state: Lock<State>
  private let feed = UpdateFeed<AgentEvent>()

  /// Reads what is there. What cannot be understood, such as a line that was cut off, is passed over.
  /// - Parameter path: the file; `nil` for none.
  public convenience init(path: String?) {
    self.init(path: path, wallClock: WallClock.unixMilliseconds)
  }

  package init(path: String?, wallClock: @escaping @Sendable () -> Int64) {
    self.path = path
    self.wallClock = wallClock
    var state = State()
    if let path {
      let events = EventFile.read(path + ".1") + EventFile.read(path)
      state.events = events.suffix(Self.memoryLimit)
      state.count = events.last?.number ?? 0
    }
    self.state = Lock(state)
  }

  /// The number of the newest event; 0 for none.
  public var count: Int { state.withLock { $0.count } }

  /// How many events of this run are in memory only.
  public var unwritten: Int { state.withLock { $0.unwritten } }

  /// Why the newest event is not in the file; `nil` when it is.
  public var problem: AgentError? { state.withLock { $0.problem } }

  /// The newest events, the oldest of them first.
  /// - Parameter limit: how many at most.
  public func newest(_ limit: Int = memoryLimit) -> [AgentEvent] {
    state.withLock { Array($0.events.suffix(max(limit, 0))) }
  }

  /// The events from now on.
  /// - Parameter limit: how many may wait for the reader; beyond that the oldest go, and ``newest(_:)`` has them.
  public func events(limit: Int = 64) -> BoundedStream<AgentEvent> {
    feed.updates(limit: limit, beginsWithNewest: false)
  }

  /// Adds an event, with the time that it is now.
  @discardableResult
  public func append(_ kind: AgentEvent.Kind, _ text: String) -> AgentEvent {
    let now = wallClock()
    return state.withLock { state in
      state.count += 1
      let event = AgentEvent(
        number: state.count, atMs: now, kind: kind, text: String(text.prefix(Self.textLimit)))
      state.events.append(event)
      if state.events.count > Self.memoryLimit { state.events.removeFirst() }
      // Under the lock, so that the file, and who reads along, have the order of the numbers.
      if let path { write(event, to: path, &state) }
      feed.publish(event)
      return event
    }
  }

  private func write(_ event: AgentEvent, to path: String, _ state: inout State) {
    do {
      try EventFile.append(event, to: path, isTorn: state.isTorn, limit: Self.fileLimit)
      (state.isTorn, state.problem) = (false, nil)
    } catch {
      state.unwritten += 1
      (state.isTorn, state.problem) = (true, error)
    }
  }
}
