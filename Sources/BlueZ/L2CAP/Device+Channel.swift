extension Device {
  /// Opens an L2CAP channel to a PSM that the device listens on.
  ///
  /// The device need not be connected: the kernel connects when it receives the device's advertisement. A connection
  /// made by ``connect(_:requiring:)`` is used. While a peer grants no initial credits, the method waits for them.
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
    try check()
    guard let address, let addressType, let (own, ownType) = adapterAddress else {
      throw BlueZError(.staleHandle, "\(peer) has no address, or no adapter")
    }
    let doing = "opening \(L2CAPChannel.name(psm, peer))"
    let socket = try L2CAPSocket()
    do {
      try await withRadioToItself {
        try socket.startConnecting(
          from: L2CAPSocketAddress(psm: 0, address: own, type: ownType),
          to: L2CAPSocketAddress(psm: psm, address: address, type: addressType), security, mtu: mtu, limit: timeout,
          doing: doing)
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

  private var adapterAddress: (BluetoothAddress, AddressType)? {
    guard let path = property("Adapter")?.objectPath,
      let address = core.property(path, Adapter.interface, "Address")?.string.flatMap(BluetoothAddress.init),
      let type = core.property(path, Adapter.interface, "AddressType")?.string.flatMap(AddressType.init)
    else { return nil }
    return (address, type)
  }
}
