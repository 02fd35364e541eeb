internal import Logging
internal import Streams

/// The state that the monitor shares with its worker. Only the monitor itself closes it, so nothing here may keep a
/// reference to the monitor.
final class PowerCore: Sendable {
  let options: PowerMonitor.Options
  let folder: SupplyFolder
  let feed = UpdateFeed<PowerUpdate>()
  let news = MonitorNews()
  private let machine: Lock<PowerMachine>

  init(_ options: PowerMonitor.Options) {
    self.options = options
    folder = SupplyFolder(path: options.supplyFolder)
    machine = Lock(PowerMachine(lowPowerSetting: options.lowPowerMode))
  }

  func handle(_ event: PowerMachine.Event) {
    let now = options.wallClock()
    machine.withLock { machine in
      for action in machine.handle(event, at: now) {
        switch action {
        case .publish(let update): feed.publish(update)
        case .store(let update): feed.publish(update, isDelivered: false)
        }
      }
    }
  }

  /// Has the kernel's files read after each event of a supply; without events only the interval counts.
  func followEvents() -> SupplyEvents? {
    do {
      // Not as news of the daemons, which report by themselves.
      return try SupplyEvents(try options.openEvents()) { [news] in news.wake.signal() }
    } catch {
      options.logger.debug("no events of power supplies", metadata: ["error": "\(error)"])
      return nil
    }
  }

  func close() { news.wake.finish() }
}
