/// Asks the sources whenever one of them may have news, and tells the monitor's core.
actor PowerWorker {
  private let core: PowerCore
  private var bus: PowerBus?

  init(_ core: PowerCore) { self.core = core }

  /// Until the core is closed, or the task cancelled.
  func run() async {
    for await _ in core.news { await look() }
    // Without this actor nobody would end the connection.
    bus = nil
    core.feed.end()
  }

  private func look() async {
    let reading = await readBus()
    // Nobody waits for what a closed monitor finds.
    guard !Task.isCancelled else { return }
    core.handle(reading.supplies ?? core.folder.read(), reading.profile)
  }

  /// What the daemons say; nothing without a bus, which is looked for again at the next news.
  private func readBus() async -> BusReading {
    guard let address = core.options.bus else { return BusReading() }
    do {
      if bus == nil {
        bus = try await PowerBus(address, logger: core.options.logger) { [core] in core.announceNews() }
      }
      return try await bus?.read() ?? BusReading()
    } catch {
      bus = nil
      core.options.logger.debug("there is no bus to ask how power is", metadata: ["error": "\(error)"])
      return BusReading()
    }
  }
}
