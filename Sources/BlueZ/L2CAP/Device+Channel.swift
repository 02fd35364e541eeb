extension Device {
  /// Opens an L2CAP channel to a PSM that the device listens on.
  ///
  /// The device need not be connected: the kernel makes the link when it hears the device advertise. One that
  /// ``connect(_:requiring:)`` made is used. A peer that grants no credits at first is waited for until it does. Cancelling the
  /// task gives the attempt up.
  /// - Parameters:
  ///   - psm: 0x01 to 0xff.
  ///   - security: what the link must have; the kernel starts pairing when it has less, for which bluetoothd needs an
  ///     agent where a person has to confirm.
  ///   - mtu: the most bytes of a packet from the peer, 23 to 65535.
  ///   - timeout: how long it may take, pairing included.
  /// - Throws: ``BlueZError``: `.invalidArgument`, `.staleHandle`, `.channelRefused`, `.authenticationFailed` when this
  ///   side or the peer wants more security than pairing brought, `.timedOut` (also when it is this side's agent that
  ///   refuses to pair: the kernel then waits on), `.connectFailed`, `.notConnected` when the link ended meanwhile;
  ///   `CancellationError`.
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
        try await withTimeout(timeout, doing, hint: "is it in range, does it advertise, does it wait for a pairing?") {
          try await socket.finishConnecting(doing: doing)
        }
      }
    } catch let error as BlueZError where error.code == .channelRefused {
      guard try socket.securityLevel(doing) > security.rawValue else { throw error }
      throw BlueZError(.authenticationFailed, error.message, hint: "the peer wants pairing", errno: error.errno)
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
