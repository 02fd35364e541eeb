public import Streams

extension Adapter {
  /// A device was seen, or is no longer.
  public struct ScanResult: Sendable, Hashable {
    /// The device.
    public var device: Device
    /// What it said, at the time of the sighting; `nil` when bluetoothd has forgotten the device.
    public var advertisement: AdvertisementData?

    /// The signal strength in dBm; `nil` when the controller did not measure it.
    public var rssi: Int? { advertisement?.rssi }
    /// Whether bluetoothd has forgotten the device since it was seen; it is then not to be connected to.
    public var isLost: Bool { advertisement == nil }
  }

  /// Scans for LE devices, until the stream's reader stops.
  ///
  /// Several scans of one session share one discovery in bluetoothd, and each sees what its own filter asks for. A scan
  /// is declared: it goes on after a restart of bluetoothd or a power cycle.
  /// - Parameters:
  ///   - filter: what to find.
  ///   - limit: how many sightings may wait for the reader; beyond that the oldest go.
  /// - Throws: ``BlueZError`` with code `.invalidArgument` (a filter out of its ranges), `.notPowered`, `.noAdapter`,
  ///   `.inProgress` (another program holds the discovery), `.serviceUnavailable` or `.notPermitted`.
  public func discover(
    _ filter: DiscoveryFilter = DiscoveryFilter(), limit: Int = 256
  ) async throws -> BoundedStream<ScanResult> {
    try filter.check()
    let core = core
    let address = address
    let registration = core.sharedDiscovery(of: address)
    let observer = Lock<Int?>(nil)
    let user = registration.newUser()
    let (stream, source) = BoundedStream.make(
      of: ScanResult.self, limit: limit,
      onTermination: {
        if let id = observer.withLock({ $0 }) { core.stopObserving(id) }
        registration.remove(user)
      })
    let feed = ScanFeed(adapter: self, filter: filter, source: source)
    let id = core.observe(feed.note)
    observer.withLock { $0 = id }
    do {
      try await registration.add(user, filter)
    } catch {
      source.finish()
      throw error
    }
    feed.showPresent()
    return stream
  }
}
