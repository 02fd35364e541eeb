public import Streams
import Timing

/// A log of events: the newest in memory, and more of them in a file with a JSON object in each line.
///
/// Each event is in the file when ``append(_:_:)`` returns, and survives `kill -9`. A full file replaces the one before
/// it, so that there are never more than two.
///
/// ```swift
/// let log = EventLog(path: "/var/lib/edgeblue/events.jsonl")
/// for await event in log.events() { print(event.number, event.kind.rawValue, event.text) }
/// ```
public final class EventLog: Sendable {
  /// The number of events in memory: 512.
  public static let memoryLimit = 512
  /// The largest file, in bytes: 256 KiB, some two thousand events.
  public static let fileLimit = 256 * 1024
  /// The longest text of an event, in characters; a longer one is truncated.
  static let textLimit = 1000

  private struct State {
    var events: [AgentEvent] = []
    var count = 0
    var unwritten = 0
    var problem: AgentError?
    /// A Boolean value that indicates whether the file may end in the middle of a line.
    var isTorn = true
  }

  /// The path of the file; the file before it has the suffix `.1`. `nil` for a log in memory only.
  public let path: String?
  private let wallClock: @Sendable () -> Int64
  private let state: Lock<State>
  private let feed = UpdateFeed<AgentEvent>()

  /// Restores the events of the files. A line that cannot be decoded, such as a truncated one, is ignored.
  /// - Parameter path: The path of the file; `nil` for a log in memory only.
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

  /// The number of the newest event; 0 if there is none.
  public var count: Int { state.withLock { $0.count } }

  /// The number of events of this process that are in memory only.
  public var unwritten: Int { state.withLock { $0.unwritten } }

  /// The error that keeps the newest event out of the file; `nil` if it was written.
  public var problem: AgentError? { state.withLock { $0.problem } }

  /// Returns the newest events, the oldest of them first.
  /// - Parameter limit: The largest number of events.
  public func newest(_ limit: Int = memoryLimit) -> [AgentEvent] {
    state.withLock { Array($0.events.suffix(max(limit, 0))) }
  }

  /// Returns the events that are appended from now on.
  /// - Parameter limit: The number of events that wait for a slow reader; beyond it the oldest is dropped, and only
  ///   ``newest(_:)`` returns it.
  public func events(limit: Int = 64) -> BoundedStream<AgentEvent> {
    feed.updates(limit: limit, beginsWithNewest: false)
  }

  /// Appends an event with the present time.
  /// - Returns: The event with its number.
  @discardableResult
  public func append(_ kind: AgentEvent.Kind, _ text: String) -> AgentEvent {
    let now = wallClock()
    return state.withLock { state in
      state.count += 1
      let event = AgentEvent(
        number: state.count, atMs: now, kind: kind, text: String(text.prefix(Self.textLimit)))
      state.events.append(event)
      if state.events.count > Self.memoryLimit { state.events.removeFirst() }
      // Under the lock, so that the file and all subscribers have the order of the numbers.
      if let path { write(event, to: path, &state) }
      feed.publish(event)
      return event
    }
  }

  /// Delivers an event to the subscribers of ``events(limit:)``, with the number of the newest one in the log.
  ///
  /// What happens all the time would push everything else out of the log.
  public func announce(_ kind: AgentEvent.Kind, _ text: String) {
    let now = wallClock()
    state.withLock { state in
      let event = AgentEvent(number: state.count, atMs: now, kind: kind, text: String(text.prefix(Self.textLimit)))
      _ = feed.publish(event)
    }
  }

  private func write(_ event: AgentEvent, to path: String, _ state: inout State) {
    do {
      try EventFile.append(event, to: path, isTorn: state.isTorn, limit: Self.fileLimit)
      state.isTorn = false
      state.problem = nil
    } catch {
      state.unwritten += 1
      state.isTorn = true
      state.problem = error
    }
  }
}
