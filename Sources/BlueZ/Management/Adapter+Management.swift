extension Adapter {
  /// Sends a command of the kernel's management interface for this adapter.
  /// - Returns: The parameters of the reply.
  /// - Throws: ``BlueZError``.
  func manage(_ command: ManagementCommand, _ parameters: [UInt8] = [], doing: String) async throws -> [UInt8] {
    guard let index = try requirePath().controllerIndex else { throw BlueZError(.noAdapter, doing) }
    return try await core.kernel.openManagement().request(command, at: index, parameters, doing: doing)
  }
}

extension Device {
  /// The address as the management interface has it: six bytes and the kind.
  /// - Throws: ``BlueZError``, `.staleHandle`.
  func managementAddress() throws -> [UInt8] {
    try check()
    guard let address else { throw BlueZError(.staleHandle, "\(peer) has no address") }
    // BDADDR_LE_PUBLIC and BDADDR_LE_RANDOM (include/net/bluetooth/bluetooth.h).
    return address.littleEndian + [addressType == .random ? 2 : 1]
  }

  /// Returns the adapter of the device.
  /// - Throws: ``BlueZError``, `.staleHandle`.
  func adapter() throws -> Adapter {
    try check()
    guard let path = property("Adapter")?.objectPath,
      let identity = core.state.withLock({ $0.identity(at: path) })
    else { throw BlueZError(.staleHandle, "\(peer) belongs to no adapter") }
    return Adapter(session: session, identity: identity)
  }
}
