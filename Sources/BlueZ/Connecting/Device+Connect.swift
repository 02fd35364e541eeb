extension Device {
  /// Connects, and waits until the services can be used, within the usual limits of ``ConnectOptions/direct(timeout:attempts:backoff:)``. Nothing
  /// happens when both are so already.
  ///
  /// Cancelling the task gives the attempt up.
  /// - Throws: as ``connect(_:requiring:)``.
  public func connect() async throws {
    _ = try await dial(.direct(), [:]).connect()
  }

  /// Connects, and waits until the services can be used; with `.keepConnected` it returns at once.
  ///
  /// Services that never come, or that lack what is required, may be the fault of what bluetoothd keeps of a device: it
  /// is then made to forget the device, and there is one more attempt that begins by finding it again. A bonded device
  /// is not forgotten, because that would cost its keys. On Linux 6.1 a link to a peer that does not answer
  /// is given up only when bluetoothd has lost patience with it: 30 s after its last request.
  /// - Parameters:
  ///   - options: how often, and for how long.
  ///   - required: the characteristics, by service, without which the link is of no use.
  /// - Throws: ``BlueZError``: `.staleHandle`; and with `.direct` `.timedOut` and `.deviceNotFound` with the step that
  ///   ran out, `.connectFailed`, `.notPermitted` when it is blocked here, `.notSupported` when something required is
  ///   not there, `.notConnected` when the link ended meanwhile, `.serviceUnavailable`; or `CancellationError`.
  public func connect(
    _ options: ConnectOptions, requiring required: [BluetoothUUID: Set<BluetoothUUID>] = [:]
  ) async throws -> DeviceConnection {
    try await DeviceConnection.start(dial(options, required), options)
  }

  private func dial(_ options: ConnectOptions, _ required: [BluetoothUUID: Set<BluetoothUUID>]) throws -> Dial {
    try check()
    guard let address, let path = property("Adapter")?.objectPath,
      let adapter = session.adapters.first(where: { $0.path == path })
    else { throw BlueZError(.staleHandle, "\(peer) belongs to no adapter") }
    return Dial(adapter, address, options, requiring: required)
  }

  /// Ends the link, and waits until it is ended, also when the task is cancelled. Without effect when there is none,
  /// also because the device, the adapter or bluetoothd is gone.
  ///
  /// Whoever connects meanwhile with the same session gets a link of their own, when this one has ended. bluetoothd
  /// tells nobody that another program is ending a link.
  /// - Parameter timeout: bluetoothd takes about two seconds.
  /// - Throws: ``BlueZError`` with code `.timedOut`, or what bluetoothd refuses with.
  public func disconnect(timeout: Duration = .seconds(10)) async throws {
    guard isConnected else { return }
    do {
      try await endLink(timeout: timeout, doing: "disconnecting \(peer)")
    } catch let error as BlueZError where error.meansGone {
      core.logger.debug("no link to end", metadata: ["error": "\(error)"])
    }
  }

  /// Has bluetoothd forget the device, with its link, its bond and what it cached of its services; returns when it has.
  /// - Throws: ``BlueZError``; with code `.staleHandle` when it has forgotten the device, or restarted, which keeps bonds.
  public func remove() async throws {
    try check()
    let path = path
    let generation = generation
    let doing = "removing \(peer)"
    guard let adapter = property("Adapter")?.objectPath else {
      throw BlueZError(.staleHandle, "\(peer) belongs to no adapter")
    }
    try await core.call(adapter, Adapter.interface, "RemoveDevice", [.objectPath(path)], doing: doing)
    try await core.wait(doing, .seconds(5)) { state in
      state.generation != generation || state.cache.properties(path, Self.interface) == nil ? () : nil
    }
  }
}

extension Adapter {
  /// Connects to the device with an address, which bluetoothd need not know yet: it is looked for until it advertises.
  /// - Parameters:
  ///   - address: the public or static address; for a bonded device its identity.
  ///   - options: how often, and for how long.
  ///   - required: the characteristics, by service, without which the link is of no use.
  /// - Throws: as ``Device/connect(_:requiring:)``.
  public func connect(
    to address: BluetoothAddress, _ options: ConnectOptions = .direct(),
    requiring required: [BluetoothUUID: Set<BluetoothUUID>] = [:]
  ) async throws -> DeviceConnection {
    try await DeviceConnection.start(Dial(self, address, options, requiring: required), options)
  }
}
