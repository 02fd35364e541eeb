extension Device {
  /// Reads RSSI and transmission power of the connection from the kernel. Needs CAP_NET_ADMIN.
  ///
  /// The kernel asks the controller at most once in a second or so, and returns the last values in between.
  /// - Throws: ``BlueZError``: `.notPermitted` without the capability; `.notConnected`, `.staleHandle`; `.notSupported`
  ///   by the controller, `.timedOut`; or `CancellationError`.
  public func linkReading() async throws -> LinkReading {
    let doing = "reading the power of the connection to \(peer)"
    let address = try managementAddress()
    let reply = try await adapter().manage(.getConnectionInformation, address, doing: doing)
    guard let reading = LinkReading(reply, of: address) else { throw BlueZError.malformedReply(doing) }
    return reading
  }

  /// Returns RSSI and transmission power of the connection, now and at an interval, until the connection ends. Needs
  /// CAP_NET_ADMIN; without it the first step of the sequence throws `.notPermitted`.
  ///
  /// ```swift
  /// for try await reading in device.linkReadings(every: .seconds(5)) {
  ///   if let rssi = reading.rssi, rssi < -85 { print("almost out of range") }
  /// }
  /// ```
  /// - Parameters:
  ///   - interval: The interval; less than 100 ms counts as 100 ms. The kernel asks the controller at most once in a
  ///     second or so.
  ///   - limit: The capacity of the sequence; when it is full the oldest readings are dropped.
  public func linkReadings(every interval: Duration = .seconds(1), limit: Int = 16) -> LinkReadings {
    LinkReadings(of: self, every: max(interval, .milliseconds(100)), limit: limit)
  }
}
