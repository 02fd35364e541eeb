internal import Logging

/// Reads the sources of power whenever one of them may have changed.
actor PowerWorker: MonitorWorker {
  private let core: PowerCore
  private var bus: PowerBus?

  init(_ core: PowerCore) { self.core = core }

  func close() { bus = nil }

  func read() async {
    let reading = await readBus()
    // A closed monitor publishes nothing.
    guard !Task.isCancelled else { return }
    core.handle(.read(reading.supplies ?? core.folder.read(), reading.profile))
  }

  /// Reads the daemons; returns nothing without a bus, which is tried again at the next wake-up.
  private func readBus() async -> BusReading {
    guard let address = core.options.bus else { return BusReading() }
    do {
      if bus == nil {
        bus = try await PowerBus(address, logger: core.options.logger) { [core] in core.wake.signal() }
      }
      return try await bus?.read() ?? BusReading()
    } catch {
      bus = nil
      core.options.logger.debug("connection for power state failed", metadata: ["error": "\(error)"])
      return BusReading()
    }
  }
}
