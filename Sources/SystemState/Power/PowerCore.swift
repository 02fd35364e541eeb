internal import Streams

/// The state that the monitor shares with its worker. Only the monitor itself closes it, so nothing here may keep a
/// reference to the monitor.
final class PowerCore: Sendable {
  let options: PowerMonitor.Options
  let folder: SupplyFolder
  let feed = UpdateFeed<PowerUpdate>()
  /// Raised when a source may have changed.
  let wake = WakeSignal()
  private let machine: Lock<PowerMachine>
  /// Whether the daemons may have changed since they were last read.
  private let hasNews = Lock(true)

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

  /// Has all sources read anew.
  func refresh() {
    hasNews.withLock { $0 = true }
    wake.signal()
  }

  /// - Returns: `true` if the daemons may have changed since the last call.
  func takeNews() -> Bool {
    hasNews.withLock { news in
      defer { news = false }
      return news
    }
  }

  func close() { wake.finish() }
}
