internal import DBus
internal import Streams

/// What an activity, its uses and its worker share.
final class ActivityCore: Sendable {
  let options: BackgroundActivity.Options
  let feed = UpdateFeed<BackgroundActivity.State>()
  /// Something may be to do.
  let news: BoundedStream<Void>
  private let newsSource: BoundedStream<Void>.Source
  private let held = Lock<(machine: InhibitorMachine, inhibitor: FileDescriptor?)>((InhibitorMachine(), nil))

  init(_ options: BackgroundActivity.Options) {
    self.options = options
    (news, newsSource) = BoundedStream.make(limit: 1)
    feed.publish(.released)
  }

  func announceNews() { newsSource.yield(()) }

  var isNeeded: Bool { held.withLock { $0.machine.isNeeded } }

  func isToBeTaken(from logind: String) -> Bool { held.withLock { $0.machine.isToBeTaken(from: logind) } }

  /// Takes in an event. What is not needed any more is let go before this returns.
  /// - Parameter inhibitor: what was granted, when it was.
  func handle(_ event: InhibitorMachine.Event, _ inhibitor: FileDescriptor? = nil) {
    held.withLock { held in
      held.machine.handle(event)
      if let inhibitor {
        // After the new one is there, so that nothing slips between.
        held.inhibitor?.close()
        held.inhibitor = inhibitor
      }
      if !held.machine.isNeeded {
        held.inhibitor?.close()
        held.inhibitor = nil
      }
      let state = held.machine.state
      feed.publish(state, isDelivered: state != feed.newest)
    }
  }

  func close() {
    handle(.close)
    newsSource.finish()
  }
}

/// Asks logind for the inhibitor whenever it may be needed or lost.
actor ActivityWorker {
  private let core: ActivityCore
  private var bus: ActivityBus?
  /// Why logind has last refused; the same again, every 30 s, is not logged.
  private var refusal: String?

  init(_ core: ActivityCore) { self.core = core }

  /// Until the core is closed, or the task cancelled.
  func run() async {
    for await _ in core.news where core.isNeeded { await look() }
    // Without this actor nobody would end the connection.
    bus = nil
    core.feed.end()
  }

  private func look() async {
    guard let address = core.options.bus else { return }
    do {
      if bus == nil {
        bus = try await ActivityBus(address, logger: core.options.logger) { [core] in core.announceNews() }
      }
      guard let bus, let logind = try await bus.owner() else { return core.handle(.logindGone) }
      guard core.isToBeTaken(from: logind) else { return }
      do {
        let inhibitor = try await bus.inhibit(core.options)
        refusal = nil
        core.handle(.granted(by: logind), inhibitor)
      } catch let error as DBusError where error.code != .disconnected {
        if refusal != error.message {
          core.options.logger.warning("logind does not wait for what runs", metadata: ["error": "\(error)"])
        }
        refusal = error.message
        core.handle(.refused(because: error.message))
      }
    } catch {
      bus = nil
      core.options.logger.debug("there is no bus to ask for an inhibitor", metadata: ["error": "\(error)"])
      core.handle(.logindGone)
    }
  }
}
