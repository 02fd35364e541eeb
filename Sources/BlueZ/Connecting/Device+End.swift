import DBus

/// The end of a connection.
///
/// bluetoothd needs two seconds for it. Until then the connection exists for every client, also for `Connect`, and a
/// client that relies on it loses it. So before it connects, a session waits for the disconnections that it has started
/// itself, and for those of sessions of this process that have ended.
extension Device {
  /// Ends the connection, or the attempt to establish it, and waits until it has ended, also in a task that is
  /// cancelled: the request cannot be withdrawn.
  func endLink(timeout: Duration, doing: String) async throws {
    core.beginDisconnection(path)
    let end = Task {
      defer { core.endDisconnection(path) }
      let interface = core.state.withLock { $0.cache.interfaceToDisconnect(path) }
      try await core.call(path, interface, "Disconnect", timeout: timeout, doing: doing)
      try await waitForLink(timeout, doing) { $0["Connected"]?.bool != true }
    }
    try await end.value
  }

  /// Ends an attempt that bluetoothd may still be making, and returns when the connection is gone: the next attempt
  /// must not meet the end of this one.
  func giveUp() async {
    // Of a later instance of bluetoothd the link is another one.
    guard core.state.withLock({ $0.generation == generation }) else { return }
    do {
      try await endLink(timeout: .seconds(5), doing: "ending the attempt to connect to \(peer)")
    } catch {
      core.logger.debug("no attempt to end", metadata: ["error": "\(error)"])
    }
  }

  /// Ends a connection whose peer may owe bluetoothd a response. This goes on when the task is cancelled, and the next
  /// attempt waits for it; ``waitForRequest()`` has the reason for not ending such a connection at once.
  /// - Throws: `CancellationError`.
  func giveUpOnceAnswered() async throws {
    core.beginDisconnection(path)
    Task {
      await waitForRequest()
      await giveUp()
      core.endDisconnection(path)
    }
    do {
      try await untilNoLinkEnds(.seconds(45))
    } catch let error as BlueZError {
      core.logger.debug("the attempt has not ended yet", metadata: ["error": "\(error)"])
    }
  }

  /// Waits until bluetoothd has the response to its ATT request, or has given up the request and the connection.
  ///
  /// Linux 6.1.192, the kernel of Debian 12, crashes when a connection ends over which nothing has arrived yet and
  /// bluetoothd then closes its socket: the kernel frees the connection's data twice (`l2cap_conn_free`). The first
  /// thing to arrive is the response to a request. Debian's release number says only that it is 6.1.
  private func waitForRequest() async {
    guard let patience = core.state.withLock({ $0.disconnections.responseTimeout }) else { return }
    do {
      try await waitForLink(patience, "waiting for a response of \(peer)") { link in
        link["Connected"]?.bool != true || link["ServicesResolved"]?.bool == true
      }
    } catch {
      core.logger.debug("no response", metadata: ["error": "\(error)"])
    }
  }

  /// Waits until neither this session nor an earlier one of this process is closing a connection to the device.
  func untilNoLinkEnds(_ timeout: Duration) async throws {
    let path = path
    let link = core.late(path)
    let late = LateDisconnections.shared
    let observer = late.observe { [core] in core.checkAgain(path) }
    defer { late.stopObserving(observer) }
    try await core.wait("waiting until \(peer) is disconnected", timeout) { state -> Void? in
      let isConnected = state.cache.properties(path, Self.interface)?["Connected"]?.bool == true
      guard !state.disconnections.isUnderWay(path), !late.isUnderWay(link, isConnected: isConnected) else { return nil }
      if !isConnected { late.disconnected(link) }
      return ()
    }
  }

  /// Waits until the device's properties satisfy a condition, or the device is gone.
  func waitForLink(
    _ timeout: Duration, _ doing: String, _ isSo: @escaping @Sendable ([String: Value]) -> Bool
  ) async throws {
    let path = path
    let generation = generation
    try await core.wait(doing, timeout) { state in
      guard state.generation == generation, let device = state.cache.properties(path, Self.interface) else { return () }
      return isSo(device) ? () : nil
    }
  }
}

extension SessionCore {
  /// Marks the connection to a device as ending; ``endDisconnection(_:)`` must follow.
  func beginDisconnection(_ device: ObjectPath) {
    state.withLock { $0.disconnections.begin(device) }
  }

  func endDisconnection(_ device: ObjectPath) {
    state.withLock { $0.disconnections.end(device) }
    checkAgain(device)
  }

  /// Makes the tasks that wait for a device check its state again.
  func checkAgain(_ device: ObjectPath) {
    let observers = state.withLock { $0.observers.all }
    // Empty, because no property of the device changed.
    for observer in observers { observer(.changed(device, interface: Device.interface, [:], invalidated: [])) }
  }
}
