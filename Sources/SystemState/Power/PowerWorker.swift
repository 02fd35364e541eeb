internal import Logging

/// Reads the sources of power whenever one of them may have changed.
actor PowerWorker: MonitorWorker {
  private let core: PowerCore
  private var bus: PowerBus?
  private var last: (reading: BusReading, instant: ContinuousClock.Instant)?

  /// The age at which a reading of the daemons, which report their changes, is replaced: 5 min.
  private static let longestAge: Duration = .seconds(300)

  init(_ core: PowerCore) { self.core = core }

  func close() {
    bus = nil
    last = nil
  }

  func read() async {
    let reading = await readBus()
    // A closed monitor publishes nothing.
    guard !Task.isCancelled else { return }
    core.handle(.read(reading.supplies ?? core.folder.read(), reading.profile))
  }

  /// Reads the daemons, unless they have reported nothing since the last reading; returns nothing without a bus, which is
  /// tried again at the next wake-up.
  private func readBus() async -> BusReading {
    guard let address = core.options.bus else { return BusReading() }
    // Before the reading: what is reported meanwhile is read next.
    let hasNews = core.news.take()
    if let last, bus != nil, !hasNews, ContinuousClock.now - last.instant < Self.longestAge { return last.reading }
    last = nil
    do {
      if bus == nil {
        bus = try await PowerBus(address, logger: core.options.logger) { [core] in core.news.report() }
      }
      guard let bus else { return BusReading() }
      let reading = try await bus.read()
      last = (reading, .now)
      return reading
    } catch {
      bus = nil
      core.options.logger.debug("connection for power state failed", metadata: ["error": "\(error)"])
      return BusReading()
    }
  }
}
