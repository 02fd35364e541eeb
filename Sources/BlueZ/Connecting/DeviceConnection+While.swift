extension DeviceConnection {
  /// Runs a body for each time that the device is connected, and goes on after every loss of the link.
  ///
  /// The body is cancelled when the link is lost, and starts again with the next one. A body that returns is not
  /// started again before the next link.
  ///
  /// ```swift
  /// let connection = try await adapter.connect(to: address, .keepConnected())
  /// try await connection.whileConnected { sensor in
  ///   for try await value in try await sensor.characteristic("2a37", in: "180d").notifications() { print(value) }
  /// }
  /// ```
  /// - Parameter body: The work with the connected device. An error that it throws because the link is lost does not
  ///   leave this method; any other does.
  /// - Throws: The errors of the body; the ``BlueZError`` with which the connection ended, as with `.direct` when the
  ///   link is lost; `CancellationError`. After ``end()`` the method returns.
  public func whileConnected(_ body: @escaping @Sendable (Device) async throws -> Void) async throws {
    for await state in states() {
      switch state {
      case .connected(let device): try await run(with: device, body)
      case .ended(let error):
        if let error { throw error }
        return
      case .connecting, .waiting: continue
      }
    }
    try Task.checkCancellation()
  }

  /// Runs the body once, until it returns or the link is lost.
  private func run(with device: Device, _ body: @escaping @Sendable (Device) async throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Bool.self) { [self] group in
      group.addTask { [self] in
        await waitUntilLost(device)
        return true
      }
      group.addTask {
        do {
          try await body(device)
        } catch let error as BlueZError where Self.mayBeALoss(error) {
          // bluetoothd may report the failure before it reports the loss.
          guard await self.isLost(device) else { throw error }
        }
        return false
      }
      defer { group.cancelAll() }
      do {
        let isLost = try await group.next() ?? true
        group.cancelAll()
        // A body that ends normally, as its notifications do with the link, is over.
        if isLost { _ = try await group.next() }
      } catch is CancellationError where !Task.isCancelled {
        // The body was cancelled, because the link was lost.
      }
    }
  }

  /// The longest time from an error that a loss causes to the signal of the loss.
  private static let lossDelay = Duration.seconds(3)

  private static func mayBeALoss(_ error: BlueZError) -> Bool {
    ![.invalidArgument, .notPermitted, .overflowed, .advertisementTooLong].contains(error.code)
  }

  private func isLost(_ device: Device) async -> Bool {
    do {
      try await withTimeout(Self.lossDelay, "waiting for the loss of the link") { [self] in
        await waitUntilLost(device)
      }
      return true
    } catch {
      return Task.isCancelled
    }
  }

  /// Returns when the state is another than that with this device, or the task is cancelled.
  private func waitUntilLost(_ device: Device) async {
    for await state in states() where state != .connected(device) { return }
  }
}

extension Device {
  /// Connects, runs a body, and ends the link whichever way the body ends.
  ///
  /// ```swift
  /// let level = try await device.withConnection { try await $0.characteristic("2a19", in: "180f").read() }
  /// print(level)
  /// ```
  /// A link that another program made stays, see ``LinkLifetime``.
  /// - Parameters:
  ///   - options: The limits of the attempts; with `.keepConnected` the body starts with the first link, and the device
  ///     is connected again meanwhile when that is lost.
  ///   - required: The characteristics, by service, without which the connection is of no use.
  ///   - isolation: The actor of the caller, on which the body runs.
  ///   - body: The work with the connected device.
  /// - Throws: The errors of ``connect(_:lifetime:requiring:)`` and of the body.
  public func withConnection<R: Sendable>(
    _ options: ConnectOptions = .direct(), requiring required: [BluetoothUUID: Set<BluetoothUUID>] = [:],
    isolation: isolated (any Actor)? = #isolation, _ body: (Device) async throws -> R
  ) async throws -> R {
    try await connect(options, requiring: required).use(body)
  }
}

extension Adapter {
  /// Connects to the device with an address, runs a body, and ends the link whichever way the body ends.
  ///
  /// ```swift
  /// try await adapter.withConnection(to: address) { print(try await $0.characteristic("2a00", in: "1800").read()) }
  /// ```
  /// - Parameters:
  ///   - address: The public or static address; for a bonded device its identity address.
  ///   - options: The limits of the attempts.
  ///   - required: The characteristics, by service, without which the connection is of no use.
  ///   - isolation: The actor of the caller, on which the body runs.
  ///   - body: The work with the connected device.
  /// - Throws: The errors of ``connect(to:_:lifetime:requiring:)-(BluetoothAddress,_,_,_)`` and of the body.
  public func withConnection<R: Sendable>(
    to address: BluetoothAddress, _ options: ConnectOptions = .direct(),
    requiring required: [BluetoothUUID: Set<BluetoothUUID>] = [:], isolation: isolated (any Actor)? = #isolation,
    _ body: (Device) async throws -> R
  ) async throws -> R {
    try await connect(to: address, options, requiring: required).use(body)
  }

  /// Connects to the first device that matches a filter, runs a body, and ends the link whichever way the body ends.
  ///
  /// ```swift
  /// try await adapter.withConnection(to: .init(services: ["180d"])) { sensor in
  ///   for try await value in try await sensor.characteristic("2a37", in: "180d").notifications() { print(value) }
  /// }
  /// ```
  /// - Parameters:
  ///   - filter: The conditions for the device.
  ///   - options: The limits of the attempts.
  ///   - required: The characteristics, by service, without which the connection is of no use.
  ///   - isolation: The actor of the caller, on which the body runs.
  ///   - body: The work with the connected device.
  /// - Throws: The errors of ``connect(to:_:lifetime:requiring:)-(Adapter.DiscoveryFilter,_,_,_)`` and of the body.
  public func withConnection<R: Sendable>(
    to filter: DiscoveryFilter, _ options: ConnectOptions = .direct(),
    requiring required: [BluetoothUUID: Set<BluetoothUUID>] = [:], isolation: isolated (any Actor)? = #isolation,
    _ body: (Device) async throws -> R
  ) async throws -> R {
    try await connect(to: filter, options, requiring: required).use(body)
  }

  /// Connects to the first device that matches a filter, also to one that is linked already.
  ///
  /// ```swift
  /// let connection = try await adapter.connect(to: .init(services: ["180d"]), .keepConnected())
  /// ```
  /// - Parameters:
  ///   - filter: The conditions for the device.
  ///   - options: The policy: once, or again whenever the connection is lost. Its timeout is that of the scan, too.
  ///   - lifetime: The end of the link: by default with the session, when the session makes it.
  ///   - required: The characteristics, by service, without which the connection is of no use.
  /// - Throws: ``BlueZError``: `.deviceNotFound` when no device matched in time; the errors of ``discover(_:limit:)``
  ///   and of ``Device/connect(_:lifetime:requiring:)``.
  public func connect(
    to filter: DiscoveryFilter, _ options: ConnectOptions = .direct(), lifetime: LinkLifetime = .session,
    requiring required: [BluetoothUUID: Set<BluetoothUUID>] = [:]
  ) async throws -> DeviceConnection {
    let device = try await find(filter, timeout: options.timeout)
    return try await device.connect(options, lifetime: lifetime, requiring: required)
  }

  /// Returns the first device that matches a filter; it is in range, or linked already.
  /// - Parameters:
  ///   - filter: The conditions for the device.
  ///   - timeout: The longest time to scan.
  /// - Throws: ``BlueZError``: `.deviceNotFound` when no device matched in time, and the errors of
  ///   ``discover(_:limit:)``; or `CancellationError`.
  public func find(_ filter: DiscoveryFilter, timeout: Duration = .seconds(15)) async throws -> Device {
    let sightings = try await discover(filter)
    do {
      return try await withTimeout(timeout, "scanning for a device") { [core] in
        for await sighting in sightings where !sighting.isLost { return sighting.device }
        throw core.errorOfAnEndedStream()
      }
    } catch let error as BlueZError where error.code == .timedOut {
      throw BlueZError(.deviceNotFound, error.message, hint: "check that it is in range and advertises")
    }
  }
}

extension DeviceConnection {
  /// Runs a body with the connected device, and ends the connection.
  fileprivate func use<R: Sendable>(
    isolation: isolated (any Actor)? = #isolation, _ body: (Device) async throws -> R
  ) async throws -> R {
    do {
      let result = try await body(try await device())
      await end()
      return result
    } catch {
      await end()
      throw error
    }
  }
}
