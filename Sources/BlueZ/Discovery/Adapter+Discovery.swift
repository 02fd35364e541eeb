public import Streams

extension Adapter {
  /// A result of a scan: a device that was discovered, or that bluetoothd has forgotten since.
  public struct ScanResult: Sendable, Hashable {
    /// The device that was discovered.
    public var device: Device
    /// The advertising data at the time of the result; `nil` when bluetoothd has forgotten the device.
    public var advertisement: AdvertisementData?

    /// The RSSI in dBm; `nil` when the controller did not measure it.
    public var rssi: Int? { advertisement?.rssi }
    /// A Boolean value that indicates whether bluetoothd has forgotten the device, to which it can then not connect.
    public var isLost: Bool { advertisement == nil }
  }

  /// Scans for LE devices, until the returned stream is released.
  ///
  /// All scans of a session share one discovery in bluetoothd, and each receives the results that match its own filter.
  /// A scan is declared: it continues after a restart of bluetoothd or a power cycle.
  ///
  /// ```swift
  /// for await result in try await adapter.discover(.init(services: ["180d"])) where !result.isLost {
  ///   print(result.device, result.rssi ?? 0, "dBm")
  /// }
  /// ```
  /// - Parameters:
  ///   - filter: The conditions for devices.
  ///   - limit: The capacity of the stream; when it is full the oldest results are dropped.
  /// - Throws: ``BlueZError`` with code `.invalidArgument` (a filter outside its ranges), `.notPowered`, `.noAdapter`,
  ///   `.inProgress` (another program holds the discovery), `.serviceUnavailable` or `.notPermitted`.
  public func discover(
    _ filter: DiscoveryFilter = DiscoveryFilter(), limit: Int = 256
  ) async throws -> BoundedStream<ScanResult> {
    try filter.check()
    let core = core
    let registration = core.sharedDiscovery(of: identity)
    try Task.checkCancellation()
    let observers = Lock<[Int]>([])
    let user = registration.newUser()
    let (stream, source) = BoundedStream.make(
      of: ScanResult.self, limit: limit,
      onTermination: {
        for id in observers.withLock({ $0 }) { core.stopObserving(id) }
        registration.remove(user)
      })
    let feed = ScanFeed(adapter: self, filter: filter, discovery: registration, source: source)
    let id = core.observe(feed.note)
    observers.withLock { $0 = [id] }
    guard let ending = core.onClose({ source.finish() }) else { throw SessionCore.closed }
    observers.withLock { $0.append(ending) }
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
