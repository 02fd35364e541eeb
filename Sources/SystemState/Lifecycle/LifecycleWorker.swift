internal import DBus
internal import Streams

/// What the monitor and its worker share. Only the monitor itself ends it, so nothing here keeps that.
final class LifecycleCore: Sendable {
  let options: LifecycleMonitor.Options
  let feed = UpdateFeed<LifecycleUpdate>()
  /// Something may be new.
  let news: BoundedStream<Void>
  private let newsSource: BoundedStream<Void>.Source
  private let machine: Lock<LifecycleMachine>

  init(_ options: LifecycleMonitor.Options) {
    self.options = options
    (news, newsSource) = BoundedStream.make(limit: 1)
    machine = Lock(LifecycleMachine(choice: options.choice))
  }

  func announceNews() { newsSource.yield(()) }

  /// Takes in an event; the order of the calls is that of the updates.
  func handle(_ event: LifecycleMachine.Event) {
    machine.withLock { machine in
      if let update = machine.handle(event) { feed.publish(update) }
    }
  }

  func close() { newsSource.finish() }
}

/// Asks logind whenever it may have news, and tells the monitor's core.
actor LifecycleWorker {
  private let core: LifecycleCore
  private var bus: LifecycleBus?
  /// The logind that was asked whether the machine is about to sleep.
  private var asked: String?

  init(_ core: LifecycleCore) { self.core = core }

  /// Until the core is closed, or the task cancelled.
  func run() async {
    for await _ in core.news { await look() }
    // Without this actor nobody would end the connection.
    bus = nil
    core.feed.end()
  }

  private func look() async {
    guard let address = core.options.bus else { return core.handle(.logindGone) }
    do {
      if bus == nil { bus = try await connect(address) }
      guard let bus else { return }
      let owner = try await bus.owner()
      if owner != asked { core.handle(.sleep(false)) }
      guard let owner else {
        asked = nil
        return core.handle(.logindGone)
      }
      if owner != asked { try await bus.askForSleep { [core] in core.handle(.sleep($0)) } }
      asked = owner
      core.handle(.session(try await bus.session()))
    } catch {
      (bus, asked) = (nil, nil)
      // Nobody waits for what a closed monitor finds.
      guard !Task.isCancelled else { return }
      core.options.logger.debug("there is no bus to ask for the session", metadata: ["error": "\(error)"])
      core.handle(.logindGone)
    }
  }

  private func connect(_ address: Connection.Bus) async throws -> LifecycleBus {
    try await LifecycleBus(address, logger: core.options.logger) { [core] in
      core.handle(.sleep($0))
    } onNews: { [core] in
      core.announceNews()
    }
  }
}
