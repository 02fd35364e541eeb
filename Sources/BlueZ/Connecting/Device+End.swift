import DBus

/// The end of a link.
///
/// bluetoothd takes two seconds over it. Until then the link is there for all who ask, also for `Connect`, and who
/// relies on it loses it. So whoever makes a link waits for the ends that its session has begun.
extension Device {
  /// Ends the link, or the attempt to make it, and waits until it is ended, also in a task that is cancelled: an end
  /// cannot be taken back.
  func endLink(timeout: Duration, doing: String) async throws {
    core.beginDisconnection(path)
    let end = Task {
      defer { core.endDisconnection(path) }
      try await core.call(path, Self.interface, "Disconnect", timeout: timeout, doing: doing)
      try await waitForLink(timeout, doing) { $0["Connected"]?.bool != true }
    }
    try await end.value
  }

  /// Gives up what bluetoothd may still be trying, and returns when the link is gone: the next attempt must not meet
  /// the end of this one.
  func giveUp() async {
    do {
      try await endLink(timeout: .seconds(5), doing: "giving up on \(peer)")
    } catch {
      core.logger.debug("nothing to give up", metadata: ["error": "\(error)"])
    }
  }

  /// Gives up a link whose peer may owe bluetoothd an answer. It goes on when the task is cancelled, and whoever connects
  /// next waits for it: to end such a link at once is what ``waitForRequest()`` is there against.
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
      core.logger.debug("not given up yet", metadata: ["error": "\(error)"])
    }
  }

  /// Waits until bluetoothd has an answer to its ATT request, or has given it up and the link with it.
  ///
  /// Linux 6.1.192, the kernel of Debian 12, dies when a link ends over which nothing has come yet and bluetoothd then
  /// closes its socket: that frees once more what went with the link (`l2cap_conn_free`). The first thing that comes is
  /// the answer to a request. Debian's release says only that it is 6.1.
  private func waitForRequest() async {
    guard let patience = core.state.withLock({ $0.disconnections.responseTimeout }) else { return }
    do {
      try await waitForLink(patience, "waiting for an answer of \(peer)") { link in
        link["Connected"]?.bool != true || link["ServicesResolved"]?.bool == true
      }
    } catch {
      core.logger.debug("no answer", metadata: ["error": "\(error)"])
    }
  }

  /// Waits until no link is being ended by this session.
  func untilNoLinkEnds(_ timeout: Duration) async throws {
    let path = path
    try await core.wait("waiting for the end of the link to \(peer)", timeout) { state in
      !state.disconnections.isUnderWay(path) ? () : nil
    }
  }

  /// Waits until the link is as it should be, or the device is gone.
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
  /// From now on nobody is to take the link to a device for a good one; ``endDisconnection(_:)`` must follow.
  func beginDisconnection(_ device: ObjectPath) {
    state.withLock { $0.disconnections.begin(device) }
  }

  func endDisconnection(_ device: ObjectPath) {
    let observers = state.withLock { state in
      state.disconnections.end(device)
      return state.observers.all
    }
    // Nothing about the device itself: who waits looks again.
    for observer in observers { observer(.changed(device, interface: Device.interface, [:], invalidated: [])) }
  }
}
