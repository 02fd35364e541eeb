internal import DBus
internal import Logging
internal import Streams

/// The state that an activity shares with its uses and its worker.
final class ActivityCore: Sendable {
  private struct Held {
    var machine = InhibitorMachine()
    var inhibitor: FileDescriptor?
  }

  let options: BackgroundActivity.Options
  let feed = UpdateFeed<BackgroundActivity.State>()
  /// Raised when an inhibitor may have to be requested.
  let wake = WakeSignal()
  private let held = Lock(Held())

  init(_ options: BackgroundActivity.Options) {
    self.options = options
    feed.publish(.released)
  }

  var isNeeded: Bool {
    held.withLock { if case .needed = $0.machine { true } else { false } }
  }

  /// Handles an event. An inhibitor that is no longer needed is released before this returns.
  /// - Parameter inhibitor: The inhibitor that was granted, if one was.
  /// - Returns: The logind from which an inhibitor has to be requested, if any.
  @discardableResult
  func handle(_ event: InhibitorMachine.Event, _ inhibitor: FileDescriptor? = nil) -> String? {
    held.withLock { held in
      var logind: String?
      for action in held.machine.handle(event) {
        switch action {
        case .request(from: let name): logind = name
        case .keep:
          // The new one exists already, so sleep is inhibited without a gap.
          held.inhibitor?.close()
          held.inhibitor = inhibitor
        case .release:
          inhibitor?.close()
          held.inhibitor?.close()
          held.inhibitor = nil
        case .publish(let state): feed.publish(state)
        }
      }
      return logind
    }
  }

  func close() {
    handle(.close)
    wake.finish()
  }
}

/// Requests the inhibitor from logind whenever it may be needed or lost.
actor ActivityWorker {
  private let core: ActivityCore
  private var bus: ActivityBus?
  /// The reason of logind's newest refusal, which is logged once.
  private var refusal: String?

  init(_ core: ActivityCore) { self.core = core }

  /// Runs until the core is closed or the task is cancelled.
  func run() async {
    for await _ in core.wake.signals where core.isNeeded { await request() }
    // A worker that has ended may still be referenced; its connection must not stay open.
    bus = nil
    core.feed.end()
  }

  private func request() async {
    guard let address = core.options.bus else { return }
    do {
      if bus == nil {
        bus = try await ActivityBus(address, logger: core.options.logger) { [core] in core.wake.signal() }
      }
      guard let bus else { return }
      guard let running = try await bus.owner() else {
        core.handle(.logindGone)
        return
      }
      guard let logind = core.handle(.logindFound(running)) else { return }
      do {
        let inhibitor = try await bus.inhibit(core.options)
        refusal = nil
        core.handle(.granted(by: logind), inhibitor)
      } catch let error as DBusError where error.code != .disconnected {
        if refusal != error.message {
          core.options.logger.warning("logind refused an inhibitor", metadata: ["error": "\(error)"])
        }
        refusal = error.message
        core.handle(.refused(because: error.message))
      }
    } catch {
      bus = nil
      core.options.logger.debug("connection for an inhibitor failed", metadata: ["error": "\(error)"])
      core.handle(.logindGone)
    }
  }
}
