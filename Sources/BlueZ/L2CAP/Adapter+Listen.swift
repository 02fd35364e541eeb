import Glibc

extension Adapter {
  /// Listens for L2CAP channels that peers open.
  ///
  /// ```swift
  /// let listener = try adapter.listen(psm: 0x80, security: .medium)
  /// for try await channel in listener { print(channel.peer, "opened PSM", listener.psm) }
  /// ```
  /// - Parameters:
  ///   - psm: The PSM, 0x80 to 0xff; those below are assigned by the Bluetooth SIG and need CAP_NET_BIND_SERVICE. `nil`
  ///     selects a free one.
  ///   - security: The security that the connection must have; a peer whose connection has less is refused and may
  ///     pair.
  ///   - mtu: The longest packet from the peer, 23 to 65535 bytes. Longer packets are faster where the controller's
  ///     buffers are short, and cost memory.
  ///   - backlog: The smallest number of channels that may wait to be accepted; the kernel queues about as many again,
  ///     and then refuses.
  /// - Throws: ``BlueZError``: `.invalidArgument`, `.psmInUse`, `.notPermitted` for a PSM below 0x80, `.noAdapter`,
  ///   `.serviceUnavailable`, `.notSupported` when the kernel has no Bluetooth.
  public func listen(
    psm: UInt16? = nil, security: SecurityLevel = .low, mtu: Int = L2CAPChannel.defaultMTU, backlog: Int = 8
  ) throws -> L2CAPListener {
    if let psm { try L2CAPChannel.check(psm: psm) }
    try L2CAPChannel.check(mtu: mtu)
    _ = try requirePath()
    guard let addressType else { throw BlueZError(.noAdapter, "the adapter \(address) has no address type") }
    let doing = "listening on \(psm.map { "PSM \(L2CAPChannel.text($0))" } ?? "any PSM") of \(address)"
    let socket = try core.kernel.openSocket()
    do {
      try socket.listen(
        at: L2CAPSocketAddress(psm: psm ?? 0, address: address, type: addressType), security, mtu: mtu,
        backlog: backlog, doing: doing)
    } catch let error as BlueZError where error.errno == EACCES {
      throw BlueZError(
        .notPermitted, error.message, hint: "PSMs below 0x80 need CAP_NET_BIND_SERVICE", errno: error.errno)
    }
    return L2CAPListener(socket: socket, adapter: self, psm: try socket.psm(doing: doing), backlog: backlog)
  }
}
