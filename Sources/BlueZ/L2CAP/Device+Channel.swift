extension Device {
  /// Opens an L2CAP channel to a PSM that the device listens on.
  ///
  /// The device need not be connected: the kernel connects when it receives the device's advertisement. A connection
  /// made by ``connect(_:lifetime:requiring:)`` is used. After an attempt that failed, the next one works also when
  /// bluetoothd has forgotten the device meanwhile, as it does from Linux 6.12 on. While a peer grants no initial
  /// credits, the method waits for them.
  /// Cancelling the task ends the attempt.
  /// - Parameters:
  ///   - psm: The PSM, 0x01 to 0xff.
  ///   - security: The security that the connection must have; the kernel starts pairing when it has less, for which
  ///     bluetoothd needs an agent where a user has to confirm.
  ///   - mtu: The longest packet from the peer, 23 to 65535 bytes.
  ///   - timeout: The longest time for opening the channel, including pairing.
  /// - Throws: ``BlueZError``: `.invalidArgument`, `.staleHandle`, `.channelRefused`, `.authenticationFailed` when this
  ///   host or the peer requires more security than pairing established, `.timedOut` (also when this host's agent
  ///   refuses to pair: the kernel then keeps waiting), `.connectFailed`, `.notConnected` when the connection ended
  ///   meanwhile; `CancellationError`.
  public func openChannel(
    psm: UInt16, security: SecurityLevel = .low, mtu: Int = L2CAPChannel.defaultMTU, timeout: Duration = .seconds(20)
  ) async throws -> L2CAPChannel {
    try L2CAPChannel.check(psm: psm)
    try L2CAPChannel.check(mtu: mtu)
    let ends = try channelEnds()
    let doing = "opening \(L2CAPChannel.name(psm, peer))"
    let socket = try L2CAPSocket()
    do {
      try await withRadioToItself(at: ends.adapter) {
        try socket.startConnecting(
          from: L2CAPSocketAddress(psm: 0, address: ends.own, type: ends.ownType),
          to: L2CAPSocketAddress(psm: psm, address: ends.peer, type: ends.peerType), security, mtu: mtu,
          limit: timeout, doing: doing)
        try await withTimeout(
          timeout, doing, hint: "check that it is in range, advertises, and is not waiting for pairing"
        ) {
          try await socket.finishConnecting(doing: doing)
        }
      }
    } catch let error as BlueZError where error.code == .channelRefused {
      guard try socket.securityLevel(doing) > security.rawValue else { throw error }
      throw BlueZError(.authenticationFailed, error.message, hint: "the peer requires pairing", errno: error.errno)
    }
    return try L2CAPChannel(socket: socket, peer: peer, psm: psm)
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
