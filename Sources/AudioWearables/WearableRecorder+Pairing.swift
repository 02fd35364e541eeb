internal import AudioIngest
internal import BlueZ

/// Pairing with a wearable at its first connection, and the check of all later ones.
extension WearableRecorder {
  /// The longest time for pairing: a firmware without pairing may leave the request without a response, and the kernel
  /// would disconnect it after 30 s.
  private static let pairingTimeout = Duration.seconds(10)

  /// Makes sure that a connection is encrypted with the keys of the wearable, or that the wearable has none.
  /// - Throws: `AudioIngestError` with code `.unprotected` when another device may pose as the wearable; `BlueZError`.
  func protect(_ device: Device, _ address: BluetoothAddress) async throws {
    guard settings.pairs else { return }
    let known = try folder.remembered(address, of: wearable)?.protection ?? .unknown
    switch known {
    case .paired:
      guard device.isBonded else {
        throw AudioIngestError(
          .unprotected, "\(address) was paired, and the keys are gone from this host; nothing is recorded",
          hint: "choose the wearable again to pair again")
      }
      try checkEncryption(address)
    case .unknown where device.isBonded:
      try checkEncryption(address)
      try remember(address, .paired)
    case .unknown:
      let isPaired = try await pair(device)
      try remember(address, isPaired ? .paired : .unpaired)
      if !isPaired { try warn(address, device) }
    case .unpaired: try warn(address, device)
    }
  }

  private func checkEncryption(_ address: BluetoothAddress) throws {
    guard try settings.connections(adapter).contains(where: { $0.address == address && $0.isEncrypted }) else {
      throw AudioIngestError(
        .unprotected,
        "\(address) was paired, and this connection is not encrypted: another device may use the address; nothing is recorded"
      )
    }
  }

  private func remember(_ address: BluetoothAddress, _ protection: RememberedWearable.Protection) throws {
    try folder.remember(RememberedWearable(address: address, protection: protection), of: wearable)
  }

  /// Pairs with a wearable that a user has chosen.
  ///
  /// Wearables have no display, so this host offers none either: Just Works.
  /// - Returns: `false` if the wearable does not pair.
  private func pair(_ device: Device) async throws -> Bool {
    // With a default agent the adapter keeps keys. This one refuses every pairing that a peer starts.
    let registration = try await adapter.session.register(settings.pairingAgent)
    let result: Result<Void, any Error>
    do {
      try await device.pair(timeout: Self.pairingTimeout)
      result = .success(())
    } catch {
      result = .failure(error)
    }
    try await registration.unregister()
    do {
      try result.get()
      return device.isBonded
    } catch let error as BlueZError
      where [.authenticationFailed, .authenticationRejected, .authenticationCancelled, .timedOut, .notSupported]
      .contains(error.code)
    {
      return false
    }
  }

  /// Reports, once in a run, that a wearable cannot pair.
  /// - Throws: `BlueZError` when the attempt to pair has ended the connection; the next one comes without it.
  private func warn(_ address: BluetoothAddress, _ device: Device) throws {
    if memory.withLock({ !$0.isWarned }) {
      memory.withLock { $0.isWarned = true }
      publish(
        .problem(
          "\(address) does not pair: others in range can hear its audio, and another device can use its address"))
    }
    guard device.isConnected else { throw BlueZError(.notConnected, "\(address) disconnected instead of pairing") }
  }
}
