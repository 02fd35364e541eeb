import BlueZ
import Glibc
import Streams

/// Connections for L2CAP channels, which the kernel makes and bluetoothd keeps.
extension Daemon {
  /// Opens a channel over the link to the peer, or one that is made for it, with the security that both ends require.
  func openChannel(_ request: VirtualChannels.Request) async {
    let adapter = adapters[request.adapter]
    guard adapter.isPowered else { return fail(request, EHOSTUNREACH) }
    guard let device = await linkedDevice(for: request), let link = device.link else { return }
    guard await secure(device, at: adapter, to: request.security) else { return }
    guard level(of: link) >= request.security else { return fail(request, EACCES) }
    guard let peer = peer(of: device) else { return fail(request, ECONNREFUSED) }
    let place = ChannelTable.Place(adapter: peer.index, psm: request.psm)
    if let demanded = channels.change({ $0.security(at: place) }), demanded > level(of: link) {
      guard await secure(device, at: adapter, to: demanded) else { return }
      guard level(of: link) >= demanded else { return fail(request, ECONNREFUSED, demanded: demanded) }
    }
    guard device.link === link else { return fail(request, ECONNRESET) }
    let own = shownAddress(of: adapter.address, at: peer)
    let address = L2CAPSocketAddress(
      psm: request.psm, address: own.address, type: own.type == "random" ? .random : .public)
    channels.change { $0.connect(request.socket, to: place, over: link.channels, as: address) }
  }

  private func fail(_ request: VirtualChannels.Request, _ error: Int32, demanded: SecurityLevel = .low) {
    channels.change { $0.fail(request.socket, error, demanded: demanded) }
  }

  private func level(of link: Link) -> SecurityLevel { link.channels.security.withLock { $0 } }

  /// Waits until there is a link to the peer, which needs its advertisement. The caller's timeout ends the wait.
  /// - Returns: `nil` when the attempt has failed or was cancelled.
  private func linkedDevice(for request: VirtualChannels.Request) async -> VirtualDevice? {
    let adapter = adapters[request.adapter]
    let address = adapters.first { $0.privateAddress == request.peer }?.address ?? request.peer
    if let device = adapter.devices[address], device.link != nil { return device }
    if adapter.faults.abortsConnect() {
      fail(request, ECONNABORTED)
      return nil
    }
    let hangs = adapter.faults.has(.connectHangs)
    let (turns, source) = BoundedStream.make(of: VirtualDevice.Attempt.self, limit: 4, policy: .dropNewest)
    adapter.attempts.channels[request.socket] = source
    defer { adapter.attempts.channels[request.socket] = nil }
    source.yield(.tryAgain)
    for await turn in turns {
      guard turn == .tryAgain else {
        fail(request, ENETDOWN)
        break
      }
      // A socket that is closed connects no more.
      if !hangs, !Task.isCancelled, let device = link(ifNear: address, at: adapter) { return device }
    }
    return nil
  }

  /// Encrypts a link, by pairing when there are no keys.
  /// - Returns: `false` if pairing failed: the kernel then waits for the caller's timeout.
  private func secure(_ device: VirtualDevice, at adapter: VirtualAdapter, to level: SecurityLevel) async -> Bool {
    guard level > .low else { return true }
    // A pairing that is under way serves the channel, too.
    if let pairing = device.pairing { _ = await pairing.result }
    do {
      try await encrypt(device, at: adapter)
      return true
    } catch {
      logger.debug("link not encrypted for a channel", metadata: ["error": "\(error)"])
      return false
    }
  }

  /// Links a device that is in range, and makes it known first.
  /// - Returns: `nil` if it is not in range, or does not admit this adapter.
  func link(ifNear address: BluetoothAddress, at adapter: VirtualAdapter) -> VirtualDevice? {
    let isStranger = adapter.strangers[address]?.air.isConnectable == true
    let isNear = adapters.contains { $0.address == address && $0.air?.isConnectable == true } || isStranger
    if let device = adapter.devices[address], device.link != nil { return device }
    guard isNear, let device = adapter.devices[address] ?? addDevice(address, [:], at: adapter) else { return nil }
    return link(ifReachable: device, at: adapter) ? device : nil
  }

  /// Ends the channels at one side of a link.
  func loseChannels(over link: Link, at adapter: VirtualAdapter, _ reason: String) {
    let error =
      switch reason {
      case "org.bluez.Reason.Local": ECONNABORTED
      case "org.bluez.Reason.Timeout": ETIMEDOUT
      default: ECONNRESET
      }
    channels.change { $0.lose(link.channels, at: adapter.index, error) }
  }

  /// Ends all channels of an adapter, also those over links that this instance of bluetoothd does not know, and the
  /// attempts to open one.
  func loseChannels(of adapter: VirtualAdapter, _ error: Int32) {
    for attempt in adapter.attempts.channels.values { attempt.yield(.giveUp) }
    channels.change { $0.lose(nil, at: adapter.index, error) }
  }
}
