internal import Streams

/// What the monitor and its worker share. Only the monitor itself ends it, so nothing here keeps that.
final class PowerCore: Sendable {
  let options: PowerMonitor.Options
  let folder: SupplyFolder
  let feed = UpdateFeed<PowerUpdate>()
  /// Something may be new.
  let news: BoundedStream<Void>
  private let newsSource: BoundedStream<Void>.Source
  private let machine: Lock<PowerMachine>

  init(_ options: PowerMonitor.Options) {
    self.options = options
    folder = SupplyFolder(path: options.supplyFolder)
    (news, newsSource) = BoundedStream.make(limit: 1)
    machine = Lock(PowerMachine(lowPowerSetting: options.lowPowerMode))
  }

  func announceNews() { newsSource.yield(()) }

  /// Takes in what was read.
  func handle(_ supplies: SupplyReading, _ profile: ProfileReading?) {
    let now = options.wallClock()
    machine.withLock { machine in
      let update = machine.handle(supplies, profile, atMs: now)
      if let newest = machine.newest { feed.publish(newest, isDelivered: update != nil) }
    }
  }

  func close() { newsSource.finish() }
}
