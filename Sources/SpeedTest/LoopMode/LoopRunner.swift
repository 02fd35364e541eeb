internal import Streams

/// The host of a loop: the clocks, the disk, the network and the desktop that its tests and notifications need.
public protocol LoopHost: Sendable {
  /// Returns the present instant of both clocks.
  func now() -> LoopInstant
  /// Waits for a number of milliseconds by the clock since boot, and wakes a machine that sleeps meanwhile if it may.
  /// - Throws: `CancellationError` when the task is cancelled.
  func sleep(milliseconds: Int64) async throws
  /// Stores the state of the loop durably.
  /// - Throws: An error if it is not stored; the loop then stands still until it is.
  func save(_ state: LoopState) throws
  /// Runs a test, stores its result durably, and returns the outcome; a cancelled one ends early.
  func run(_ test: LoopTest) async -> LoopOutcome
  /// Returns the outcome of a test whose result an earlier program has stored; `nil` if there is none.
  func storedOutcome(of test: LoopTest) -> LoopOutcome?
  /// Keeps the machine awake, or does so no longer.
  func keepAwake(_ isNeeded: Bool)
  /// Shows a notification to the user.
  func notify(_ notice: LoopNotice)
  /// Observes a change: of the state, or of the reason for which the loop stands still.
  func loopChanged(_ update: LoopUpdate)
}

/// A change of a loop, for a display.
public struct LoopUpdate: Sendable {
  /// The state of the loop.
  public var state: LoopState
  /// The distance in metres from the reference; `nil` if it is unknown.
  public var moved: Double?
  /// The reason for which the loop stands still: its state cannot be stored. `nil` if it does not.
  public var problem: String?
}

/// The owner of a ``LoopMachine``, which performs its actions on a host.
public actor LoopRunner {
  private var machine: LoopMachine
  private let host: any LoopHost
  /// The actions that wait until the state is stored.
  private var waiting: [LoopMachine.Action] = []
  private var problem: String?
  private var timer: Task<Void, Never>?
  private var test: Task<Void, Never>?
  private var isStopping = false
  private var isLaunched = false
  /// The events that have come before the launch, which comes first.
  private var early: [LoopMachine.Event] = []
  private var retry: Task<Void, Never>?
  private let endings: BoundedStream<LoopEnding>
  private let ended: BoundedStream<LoopEnding>.Source

  /// The interval at which a state that could not be stored is stored again, in milliseconds.
  private static let retryInterval: Int64 = 10_000
  private static let earlyLimit = 64

  /// Creates a runner for a loop, which nothing does before ``run()``.
  public init(_ state: LoopState, host: any LoopHost) {
    machine = LoopMachine(state)
    self.host = host
    (endings, ended) = BoundedStream.make(of: LoopEnding.self, limit: 1, policy: .dropNewest)
  }

  /// A Boolean value that indicates whether locations matter now.
  public var needsLocation: Bool { machine.needsLocation }

  /// Runs the loop until it is over, or until the task is cancelled.
  ///
  /// A cancelled loop is stored as it is, and another runner can continue it; its running test is cancelled first.
  /// - Throws: `CancellationError` when the task is cancelled.
  public func run() async throws -> LoopEnding {
    if let ending = machine.state.ending { return ending }
    let stored = machine.state.running.flatMap { host.storedOutcome(of: $0) }
    handle(.launch(stored: stored))
    var ending: LoopEnding?
    for await one in endings {
      ending = one
      break
    }
    await close()
    guard let ending else { throw CancellationError() }
    return ending
  }

  /// Passes an event to the loop: a location, a presence, or its end by a user.
  ///
  /// Before ``run()`` events wait for it, the newest 64 of them.
  public func handle(_ event: LoopMachine.Event) {
    if isStopping, case .tested = event {} else if isStopping { return }
    if case .launch = event {
      isLaunched = true
    } else if !isLaunched {
      early = early.suffix(Self.earlyLimit - 1) + [event]
      return
    }
    waiting += machine.handle(event, at: host.now())
    perform()
    schedule()
    report()
    let waited = early
    early = []
    for event in waited { handle(event) }
  }

  private func perform() {
    while let action = waiting.first {
      if action == .save {
        do {
          try host.save(machine.state)
          problem = nil
        } catch {
          problem = "\(error)"
          return storeLater()
        }
      }
      waiting.removeFirst()
      perform(action)
    }
  }

  private func perform(_ action: LoopMachine.Action) {
    switch action {
    case .save: break
    case .begin(let test): begin(test)
    case .abort: test?.cancel()
    case .hold: host.keepAwake(true)
    case .release: host.keepAwake(false)
    case .notify(let notice): host.notify(notice)
    case .finish(let ending): ended.yield(ending)
    }
  }

  private func begin(_ one: LoopTest) {
    guard !isStopping else { return }
    test = Task { [host] in
      let outcome = await host.run(one)
      handle(.tested(outcome))
    }
  }

  /// Stores the state again after a while: until then nothing that depends on it happens.
  private func storeLater() {
    guard retry == nil, !isStopping else { return }
    retry = Task { [host] in
      // Cancelled when the loop ends.
      guard (try? await host.sleep(milliseconds: Self.retryInterval)) != nil else { return }
      retry = nil
      perform()
      report()
    }
  }

  /// Waits for the instant at which time alone changes something; there is one timer, and nothing ticks.
  private func schedule() {
    timer?.cancel()
    timer = nil
    guard !isStopping, let wait = machine.wait(at: host.now()) else { return }
    timer = Task { [host] in
      // Cancelled when another event has come first.
      guard (try? await host.sleep(milliseconds: wait)) != nil, !Task.isCancelled else { return }
      handle(.timePassed)
    }
  }

  private func report() {
    host.loopChanged(
      LoopUpdate(state: machine.state, moved: machine.moved(at: host.now()), problem: problem))
  }

  /// Ends the running test and everything else of this runner; the loop stays as it is.
  private func close() async {
    isStopping = true
    timer?.cancel()
    retry?.cancel()
    test?.cancel()
    await test?.value
    host.keepAwake(false)
  }
}
