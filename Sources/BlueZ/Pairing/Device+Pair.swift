extension Device {
  /// A Boolean value that indicates whether the two devices have exchanged keys, at least for this connection.
  public var isPaired: Bool { property("Paired")?.bool ?? false }

  /// A Boolean value that indicates whether the keys are stored, so that the next connection is encrypted without
  /// pairing. bluetoothd before 5.65 does not report it; a paired device counts as bonded then.
  public var isBonded: Bool { property("Bonded")?.bool ?? isPaired }

  /// A Boolean value that indicates whether the device may use this host's profiles without a decision of an agent.
  public var isTrusted: Bool { property("Trusted")?.bool ?? false }

  /// A Boolean value that indicates whether connections from the device are refused.
  public var isBlocked: Bool { property("Blocked")?.bool ?? false }

  /// Marks the device as trusted, or removes the mark; bluetoothd stores it.
  /// - Throws: ``BlueZError`` with code `.staleHandle`, `.notPermitted` or `.serviceUnavailable`.
  public func setTrusted(_ trusted: Bool) async throws { try await set("Trusted", trusted) }

  /// Disconnects and blocks the device, or unblocks it; bluetoothd stores it.
  /// - Throws: ``BlueZError`` with code `.staleHandle`, `.notPermitted`, `.serviceUnavailable` or `.timedOut`.
  public func setBlocked(_ blocked: Bool) async throws {
    // bluetoothd would only start to disconnect: a caller that unblocks the device meanwhile could not connect.
    if blocked { try await disconnect() }
    try await set("Blocked", blocked)
  }

  private func set(_ name: String, _ value: Bool) async throws {
    try check()
    let path = path
    let generation = generation
    let doing = "setting \(name) of \(peer) to \(value)"
    try await core.set(path, Self.interface, name, .bool(value), doing: doing)
    try await core.wait(doing, .seconds(5)) { state in
      guard state.generation == generation, let device = state.cache.properties(path, Self.interface) else {
        throw BlueZError(.staleHandle, doing)
      }
      return device[name]?.bool == value ? () : nil
    }
  }

  /// Pairs with the device, after connecting where necessary; returns when the connection is encrypted, and at once
  /// when the device is paired already. ``remove()`` deletes the keys on this host; the peer keeps its own until it
  /// deletes them too.
  ///
  /// The session's ``PairingAgent`` decides; without an agent the method is Just Works. The keys are stored
  /// (``isBonded``) when the adapter is pairable, see ``Adapter/openPairingWindow(for:)``.
  ///
  /// From BlueZ 5.81 on, a connection keeps the capability of the agent that was the default one when it began: register
  /// the agent before connecting.
  ///
  /// A failed pairing usually ends the connection. Cancelling the task cancels the pairing.
  ///
  /// ```swift
  /// let window = try await adapter.openPairingWindow(for: .seconds(60))
  /// try await device.pair()
  /// print(device.isBonded ? "bonded" : "paired for this connection only")
  /// try await window.close()
  /// ```
  /// - Parameter timeout: The longest time for pairing, including the decisions of users.
  /// - Throws: ``BlueZError``: `.authenticationFailed` when the keys do not match or the peer does not accept pairing
  ///   now, `.authenticationRejected` and `.authenticationCancelled` when one side refused, `.timedOut`, `.inProgress`
  ///   when the device is being paired already, and the errors of ``connect(_:lifetime:requiring:)``; or `CancellationError`.
  public func pair(timeout: Duration = .seconds(60)) async throws {
    try check()
    guard !isPaired else { return }
    try await untilNoLinkEnds(timeout)
    if !isConnected { try await connect() }
    guard core.state.withLock({ $0.pairing.devices.insert(path).inserted }) else {
      throw BlueZError(.inProgress, "\(peer) is being paired already")
    }
    defer { core.state.withLock { _ = $0.pairing.devices.remove(path) } }
    try await withTaskCancellationHandler {
      do {
        try await core.call(path, Self.interface, "Pair", timeout: timeout, doing: "pairing with \(peer)")
      } catch let error as BlueZError {
        switch error.underlying?.name {
        case "org.bluez.Error.AlreadyExists": break
        case "org.freedesktop.DBus.Error.NoReply" where error.code == .timedOut:
          await cancelPairing()
          throw error
        default: throw error
        }
      }
    } onCancel: {
      Task { await cancelPairing() }
    }
    // bluetoothd 5.66 signals the change of Paired only when the services have been read.
    try await core.refresh(path, Self.interface, doing: "reading the properties of \(peer)")
  }

  private func cancelPairing() async {
    do {
      try await core.call(
        path, Self.interface, "CancelPairing", timeout: .seconds(5), doing: "cancelling the pairing with \(peer)")
    } catch {
      core.logger.debug("no pairing to cancel", metadata: ["error": "\(error)"])
    }
  }
}
