import DBus

extension Device {
  /// Opens an L2CAP channel to a PSM that the device listens on.
  ///
  /// The device need not be connected: the kernel connects when it receives the device's advertisement, and bluetoothd
  /// keeps that connection when the channel has ended. It ends with the session, as one that
  /// ``connect(_:lifetime:requiring:)`` makes with ``LinkLifetime/session``. A connection that exists is used.
  ///
  /// After an attempt that failed, the next one works also when bluetoothd has forgotten the device meanwhile, as it does
  /// from Linux 6.12 on. While a peer grants no initial credits, the method waits for them. Cancelling the task ends the
  /// attempt.
  /// - Parameters:
  ///   - psm: The PSM, 0x01 to 0xff.
  ///   - security: The security that the connection must have; the kernel starts pairing when it has less, for which
  ///     bluetoothd needs an agent where a user has to confirm.
  ///   - mtu: The longest packet from the peer, 23 to 65535 bytes.
  ///   - timeout: The longest time for opening the channel, including pairing.
  /// - Throws: ``BlueZError``: `.invalidArgument`, `.staleHandle`, `.channelRefused`, `.authenticationFailed` when this
  ///   host or the peer requires more security than pairing established, `.timedOut` (also when this host's agent
  ///   refuses to pair: the kernel then keeps waiting), `.connectFailed`, `.notConnected` when the connection ended
  ///   meanwhile, `.serviceUnavailable` when the session did; `CancellationError`.
  public func openChannel(
    psm: UInt16, security: SecurityLevel = .low, mtu: Int = L2CAPChannel.defaultMTU, timeout: Duration = .seconds(20)
  ) async throws -> L2CAPChannel {
    try L2CAPChannel.check(psm: psm)
    try L2CAPChannel.check(mtu: mtu)
    let ends = try channelEnds()
    let doing = "opening \(L2CAPChannel.name(psm, peer))"
    let socket = try core.kernel.openSocket()
    let ending = SessionEnding(session) { socket.close() }
    defer { ending.cancel() }
    try await linking(at: ends.adapter, timeout) {
      do {
        try socket.startConnecting(
          from: L2CAPSocketAddress(psm: 0, address: ends.own, type: ends.ownType),
          to: L2CAPSocketAddress(psm: psm, address: ends.peer, type: ends.peerType), security, mtu: mtu,
          limit: timeout, doing: doing)
        try await withTimeout(
          timeout, doing, hint: "check that it is in range, advertises, and is not waiting for pairing"
        ) {
          try await socket.finishConnecting(doing: doing)
        }
      } catch {
        // The kernel must not connect any more when bluetoothd is asked whether it has.
        defer { socket.close() }
        throw try (error as? BlueZError).map { try cause(of: $0, at: socket, wanting: security, doing) } ?? error
      }
    }
    return try L2CAPChannel(socket: socket, peer: peer, psm: psm, in: session)
  }

  /// Returns the error of an attempt, with what the socket and the session know of its cause.
  private func cause(
    of error: BlueZError, at socket: any ChannelSocket, wanting security: SecurityLevel, _ doing: String
  ) throws -> BlueZError {
    if error.code == .channelRefused, try socket.securityLevel(doing) > security.rawValue {
      return BlueZError(.authenticationFailed, error.message, hint: "the peer requires pairing", errno: error.errno)
    }
    return error.code == .notConnected && core.state.withLock({ $0.isClosed }) ? SessionCore.closed : error
  }

  /// Runs an attempt in which the kernel connects where there is no connection, which is then a lease of the session.
  private func linking(
    at adapter: ObjectPath, _ timeout: Duration, _ body: () async throws -> Void
  ) async throws {
    try await untilNoLinkEnds(timeout)
    let attempt = core.state.withLock { state -> Leases.Attempt? in
      let isLinked = state.cache.properties(path, Self.interface)?["Connected"]?.bool == true
      if isLinked, !state.leases.contains(path) { return nil }
      // Also with a connection of this session: it may just be lost, and the kernel then makes the next one.
      return state.leases.beginAttempt(path, .session)
    }
    guard let attempt else { return try await body() }
    defer { endLinking(attempt) }
    try await withRadioToItself(at: adapter, body)
    // Also of an attempt that began with an earlier instance of bluetoothd: the kernel carries on without it.
    core.state.withLock { $0.leases.add(path, .session) }
  }

  /// The time after which bluetoothd knows of every connection that the kernel made for an attempt that was given up.
  private static let noticeLimit = Duration.seconds(2)

  /// Ends the attempt when bluetoothd has said whether there is a connection. The kernel is ahead of bluetoothd, whose
  /// signal of the end of an earlier connection may still be on its way; and a peer may have refused the channel alone.
  private func endLinking(_ attempt: Leases.Attempt) {
    Task { [core, path, peer] in
      do {
        try await core.refresh(path, Self.interface, doing: "reading the properties of \(peer)")
        try await core.wait("waiting for a connection to \(peer)", Self.noticeLimit) { state in
          state.cache.properties(path, Self.interface)?["Connected"]?.bool == false ? nil : ()
        }
      } catch {
        core.logger.debug("no connection after an attempt to open a channel", metadata: ["error": "\(error)"])
      }
      core.state.withLock { state in
        // An instance that has just started may not have returned the device yet.
        let isLinked = state.cache.properties(path, Self.interface)?["Connected"]?.bool != false
        if isLinked { state.leases.add(path, .session) }
        state.leases.endAttempt(attempt, hasLink: isLinked)
      }
    }
  }

  /// Returns the addresses of both ends: those of an earlier attempt where bluetoothd has forgotten the device.
  private func channelEnds() throws -> ChannelEnds {
    if let kept = core.state.withLock({ state in
      state.generation == generation && state.cache.properties(path, Self.interface) == nil
        ? state.channels.ends(of: path, in: generation) : nil
    }) {
      return kept
    }
    try check()
    guard let address, let addressType, let adapter = property("Adapter")?.objectPath,
      let own = core.property(adapter, Adapter.interface, "Address")?.string.flatMap(BluetoothAddress.init),
      let ownType = core.property(adapter, Adapter.interface, "AddressType")?.string.flatMap(AddressType.init)
    else {
      throw BlueZError(.staleHandle, "\(peer) has no address, or no adapter")
    }
    let ends = ChannelEnds(adapter: adapter, own: own, ownType: ownType, peer: address, peerType: addressType)
    core.state.withLock { $0.channels.note(path, ends, in: generation) }
    return ends
  }
}
