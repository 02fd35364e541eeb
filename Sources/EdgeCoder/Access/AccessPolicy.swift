public import BlueZ

/// The rule that decides which peers a role serves or uses, and how secure their connections must be.
///
/// At a phone the rule decides which centrals may send requests. In the modes `encrypted` and `authenticated` it holds
/// for reads, writes and subscriptions. bluetoothd and the kernel check the encryption of the connection for each access;
/// ``BlueZPhoneTransport`` checks the identity of the central.
///
/// At a central the rule decides which phones receive requests: ``BlueZPhoneRadio`` connects to a phone only if the rule
/// admits its bond, and sends nothing to one that does not demand the security of the mode.
///
/// ```swift
/// let desktop = BluetoothAddress("00:AA:01:00:00:42")
/// let policy = AccessPolicy.authenticated(allowed: desktop.map { [$0] })
/// ```
public struct AccessPolicy: Sendable, Hashable {
  /// The security that connections must have.
  public let mode: AccessMode
  /// The identity addresses of the peers to admit; `nil` admits every bonded peer.
  public let allowed: Set<BluetoothAddress>?

  /// The policy that admits every peer, without pairing.
  public static let open = AccessPolicy(mode: .open, allowed: nil)

  /// Returns a policy that admits bonded peers over encrypted connections.
  /// - Parameter allowed: The identity addresses to admit; `nil` admits every bonded peer.
  public static func encrypted(allowed: Set<BluetoothAddress>? = nil) -> AccessPolicy {
    AccessPolicy(mode: .encrypted, allowed: allowed)
  }

  /// Returns a policy that admits bonded peers over authenticated connections.
  ///
  /// A connection is authenticated if the two have paired by passkey entry or numeric comparison, with LE Secure
  /// Connections. The keys of legacy pairing are not: whoever hears it can compute them.
  /// - Parameter allowed: The identity addresses to admit; `nil` admits every bonded peer.
  public static func authenticated(allowed: Set<BluetoothAddress>? = nil) -> AccessPolicy {
    AccessPolicy(mode: .authenticated, allowed: allowed)
  }

  /// Returns `true` if a peer is admitted.
  /// - Parameters:
  ///   - address: The identity address of the peer; `nil` when unknown.
  ///   - isBonded: A Boolean value that indicates whether the peer is bonded.
  func admits(_ address: BluetoothAddress?, isBonded: Bool) -> Bool {
    guard mode != .open else { return true }
    guard isBonded, let address else { return false }
    return allowed?.contains(address) ?? true
  }

  // BlueZ has no flag that demands LE Secure Connections without authentication. The `secure…` flags are added to the
  // others, so that a bluetoothd that does not know them leaves nothing open.

  /// The flags of a characteristic that is written.
  var writeFlags: CharacteristicFlags {
    switch mode {
    case .open: [.write, .writeWithoutResponse]
    case .encrypted: [.write, .writeWithoutResponse, .encryptWrite]
    case .authenticated: [.write, .writeWithoutResponse, .encryptAuthenticatedWrite, .secureWrite]
    }
  }

  /// The flags of a characteristic that is read.
  var readFlags: CharacteristicFlags {
    switch mode {
    case .open: .read
    case .encrypted: [.read, .encryptRead]
    case .authenticated: [.read, .encryptAuthenticatedRead, .secureRead]
    }
  }

  /// The flags of a characteristic that is subscribed to.
  var notifyFlags: CharacteristicFlags {
    switch mode {
    case .open: .notify
    case .encrypted: [.notify, .encryptNotify]
    case .authenticated: [.notify, .encryptAuthenticatedNotify, .secureNotify]
    }
  }

  /// The security level of an L2CAP channel.
  package var securityLevel: SecurityLevel {
    switch mode {
    case .open: .low
    case .encrypted: .medium
    case .authenticated: .fips
    }
  }
}
