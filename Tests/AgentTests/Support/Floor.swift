import ErrorReporting
import Streams

@testable import Agent

/// The services that a test runs, and a journal of what they did, in order.
final class Floor: Sendable {
  private struct State {
    var active: [ComputeService] = []
    var ready: Set<ComputeService> = []
    var mostAtOnce = 0
    var journal: [String] = []
    var disk: ModeRecord
    var diskIsFull = false
  }

  private let state: Lock<State>
  private let wakeUp = WakeSignal()

  /// The services that were started and have not ended.
  var active: [ComputeService] { state.withLock { $0.active } }
  /// The active services that have reported that they are ready.
  var ready: Set<ComputeService> { state.withLock { $0.ready } }
  /// The largest number of services that were active at the same time.
  var mostAtOnce: Int { state.withLock { $0.mostAtOnce } }
  var journal: [String] { state.withLock { $0.journal } }
  var disk: ModeRecord { state.withLock { $0.disk } }

  init(disk: ModeRecord = ModeRecord()) { state = Lock(State(disk: disk)) }

  func enter(_ service: ComputeService) {
    change { state in
      state.active.append(service)
      state.mostAtOnce = max(state.mostAtOnce, state.active.count)
      state.journal.append("\(service) begins")
    }
  }

  func works(_ service: ComputeService) { change { $0.ready.insert(service) } }

  func leave(_ service: ComputeService) {
    change { state in
      state.active.removeAll { $0 == service }
      state.ready.remove(service)
      state.journal.append("\(service) ends")
    }
  }

  func note(_ line: String) { change { $0.journal.append(line) } }

  func fillDisk(_ isFull: Bool) { change { $0.diskIsFull = isFull } }

  func save(_ record: ModeRecord) throws(AgentError) {
    let isFull = change { state in
      state.journal.append("save \(record.mode.rawValue)")
      if !state.diskIsFull { state.disk = record }
      return state.diskIsFull
    }
    if isFull { throw AgentError(.storage, "the disk is full") }
  }

  /// Makes ``until(_:)`` check its condition again.
  func wake() { wakeUp.signal() }

  /// Waits until a condition holds; it is checked after every change. One caller at a time.
  func until(_ condition: () -> Bool) async {
    if condition() { return }
    for await _ in wakeUp.signals where condition() { return }
  }

  @discardableResult
  private func change<R>(_ body: (inout State) -> R) -> R {
    defer { wake() }
    return state.withLock(body)
  }
}

/// A service that follows the orders of a test.
final class FakeRunner: ComputeRunner {
  enum Order: Sendable {
    case work
    case fail(String)
    case end
  }

  let service: ComputeService
  private let floor: Floor
  private let orders = Lock<BoundedStream<Order>.Source?>(nil)
  private let lingers = Lock(false)
  private let leave = WakeSignal()

  init(_ service: ComputeService, _ floor: Floor) {
    self.service = service
    self.floor = floor
  }

  func order(_ order: Order) { orders.withLock { $0 }?.yield(order) }

  /// From now on the service does not end when it is cancelled, but after ``mayEnd()``.
  func linger() { lingers.withLock { $0 = true } }

  func mayEnd() { leave.signal() }

  func run(whenReady: @escaping @Sendable () async -> Void) async throws {
    let (stream, source) = BoundedStream.make(of: Order.self, limit: 8)
    orders.withLock { $0 = source }
    floor.enter(service)
    defer { floor.leave(service) }
    for await order in stream {
      switch order {
      case .work:
        floor.works(service)
        await whenReady()
      case .fail(let reason): throw Broken(message: reason)
      case .end: return
      }
    }
    guard lingers.withLock({ $0 }) else { return }
    floor.note("\(service) lingers")
    // In a task of its own: this one is cancelled.
    let leave = leave
    await Task { for await _ in leave.signals { return } }.value
  }

  struct Broken: ReportableError {
    var message: String
    var description: String { message }
    var category: ErrorCategory { .failed }
  }
}
