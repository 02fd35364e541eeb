package import BlueZ

/// The decision of a central about each phone in range: which of them it may connect to, and send prompts to.
package struct PhoneAdmission: Sendable {
  let policy: AccessPolicy
  /// The bonds that a user made with phones; `nil` admits every bond of the adapter.
  let bonds: BondStore?
  /// The kernel's connections, which it alone knows to be encrypted.
  let connections: KernelConnections

  /// Creates an admission by a rule, the bonds that a user made, and what the kernel knows of connections.
  package init(policy: AccessPolicy, bonds: BondStore?, connections: @escaping KernelConnections) {
    self.policy = policy
    self.bonds = bonds
    self.connections = connections
  }

  /// Returns the reason why a phone is not used before any connection; `nil` if it may be used.
  package func refusal(of device: Device, at adapter: Adapter) -> PhoneConnectionFailure? {
    guard policy.mode != .open else { return nil }
    guard device.isBonded else {
      return Self.failure(device, .notPaired, "is not paired with this central")
    }
    guard policy.admits(device.address, isBonded: true) else {
      return Self.failure(device, .notListed, "is bonded, but not on the allow list")
    }
    guard let bonds else { return nil }
    guard bonds.bond(of: device.address, at: adapter.address, as: .phone) != nil else {
      return Self.failure(device, .notPaired, "is bonded, but not as a phone of this central")
    }
    return nil
  }

  /// Checks a connection before the first prompt.
  /// - Parameter mode: The security that the phone demands; `nil` if it demands none.
  /// - Returns: The reason why the connection must not be used; `nil` if it may be.
  func refusal(of device: Device, at adapter: Adapter, demanding mode: AccessMode?) throws -> PhoneConnectionFailure? {
    guard policy.mode != .open else {
      guard let mode, mode != .open, !device.isPaired else { return nil }
      return mode == .authenticated
        ? Self.failure(device, .authenticationRequired, "requires pairing by passkey entry or numeric comparison")
        : Self.failure(device, .pairingRequired, "requires pairing")
    }
    if let refusal = refusal(of: device, at: adapter) { return refusal }
    guard let mode, mode != .open else {
      return Self.failure(device, .encryptionMissing, "no longer demands encryption")
    }
    guard policy.mode != .authenticated || mode == .authenticated else {
      return Self.failure(device, .encryptionMissing, "demands encryption, but no authenticated pairing")
    }
    return try refusalOfConnection(to: device, at: adapter)
  }

  /// Checks that the kernel has encrypted the connection to a phone.
  /// - Returns: The reason why the connection must not be used; `nil` if it may be.
  package func refusalOfConnection(to device: Device, at adapter: Adapter) throws -> PhoneConnectionFailure? {
    guard policy.mode != .open else { return nil }
    guard try connections(adapter).contains(where: { $0.address == device.address && $0.isEncrypted }) else {
      return Self.failure(device, .encryptionMissing, "did not encrypt the connection")
    }
    return nil
  }

  /// Checks the keys of a connection to a phone that demands authentication.
  ///
  /// The demand of the phone proves nothing: a device that has overheard a legacy pairing has its keys, and can demand
  /// what it likes.
  /// - Parameter security: The kernel's knowledge of the keys, which bluetoothd does not report.
  /// - Returns: The reason why the connection must not be used; `nil` if it may be.
  func refusalOfKeys(of device: Device, by security: KernelSecurity) async throws -> PhoneConnectionFailure? {
    guard policy.mode == .authenticated, try await !security(device, .fips) else { return nil }
    return Self.failure(
      device, .bondRejected, "was not paired by passkey entry or numeric comparison with LE Secure Connections")
  }

  /// Returns a guard of the bonds with phones; `nil` where none are listed.
  package func bondGuard(at adapter: Adapter) -> BondGuard? {
    guard policy.mode != .open, let bonds else { return nil }
    return BondGuard(adapter, bonds, of: .phone, connections: connections)
  }

  static func failure(_ device: Device, _ code: PhoneConnectionFailure.Code, _ reason: String) -> PhoneConnectionFailure
  {
    PhoneConnectionFailure(code, "\(device) \(reason)", address: device.address.map { "\($0)" } ?? "\(device.peer)")
  }
}
