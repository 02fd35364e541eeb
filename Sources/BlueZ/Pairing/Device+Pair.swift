extension Device {
  /// Whether the two have exchanged keys, for this link at least.
  public var isPaired: Bool { property("Paired")?.bool ?? false }

  /// Whether the keys are kept, so that the next link is encrypted without pairing. bluetoothd before 5.65 does not
  /// tell; paired counts then.
  public var isBonded: Bool { property("Bonded")?.bool ?? isPaired }

  /// Whether the device may use this machine's profiles without an agent being asked.
  public var isTrusted: Bool { property("Trusted")?.bool ?? false }

  /// Whether connections from the device are refused.
  public var isBlocked: Bool { property("Blocked")?.bool ?? false }

  /// Trusts the device, or no longer; bluetoothd remembers it.
  /// - Throws: ``BlueZError`` with code `.staleHandle`, `.notPermitted` or `.serviceUnavailable`.
  public func setTrusted(_ trusted: Bool) async throws { try await set("Trusted", trusted) }

  /// Blocks the device, once its link is ended, or lets it in again; bluetoothd remembers it.
  /// - Throws: ``BlueZError`` with code `.staleHandle`, `.notPermitted`, `.serviceUnavailable` or `.timedOut`.
  public func setBlocked(_ blocked: Bool) async throws {
    // bluetoothd would end it, but only begin to: who lets the device in again meanwhile could not connect any more.
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

  /// Pairs with the device, after connecting to it when there is no link; returns when the link is encrypted. Nothing
  /// happens when it is paired already. ``remove()`` undoes it on this side; the other keeps its keys until it forgets
  /// them too.
  ///
  /// The session's ``PairingAgent`` decides; without any agent it is Just Works. The keys are kept (``isBonded``) when
  /// the adapter is pairable, see ``Adapter/openPairingWindow(for:)``.
  ///
  /// A pairing that fails most often ends the link. Cancelling the task gives the pairing up.
  /// - Parameter timeout: the most time for pairing, persons' decisions included.
  /// - Throws: ``BlueZError``: `.authenticationFailed` when the keys do not match or the peer does not pair now,
  ///   `.authenticationRejected` and `.authenticationCancelled` when a side said no, `.timedOut`, `.inProgress` when it
  ///   is being paired already, and as ``connect(_:requiring:)``; or `CancellationError`.
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
    // bluetoothd 5.66 tells that Paired changed only when the services have been read.
    try await core.refresh(path, Self.interface, doing: "looking at \(peer)")
  }

  private func cancelPairing() async {
    do {
      try await core.call(path, Self.interface, "CancelPairing", timeout: .seconds(5), doing: "giving \(peer) up")
    } catch {
      core.logger.debug("no pairing to cancel", metadata: ["error": "\(error)"])
    }
  }
}
