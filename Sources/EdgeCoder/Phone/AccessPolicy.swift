public import BlueZ

/// Who may ask a phone, and how well their link must be secured.
///
/// A rule of the closed modes holds for everything: reading, writing and subscribing. What protects them is the link's
/// encryption, which bluetoothd and the kernel check for each access; who is behind it, ``BlueZPhoneTransport`` checks.
public struct AccessPolicy: Sendable, Hashable {
  /// How well a link must be secured.
  public enum Mode: String, Sendable, Hashable, CaseIterable {
    /// Not at all: everybody in range may ask, and hears the replies to others where the phone cannot address one
    /// central alone (BlueZ before 5.76).
    case open
    /// Encrypted, with a peer that has paired by any method. Just Works keeps out whoever comes later, but not who was
    /// in the middle when the two paired.
    case encrypted
    /// Encrypted, with a peer that has paired by a passkey or a comparison, so that nobody was in the middle.
    case authenticated
  }

  /// How well a link must be secured.
  public let mode: Mode
  /// The identity addresses of the peers that may ask; `nil` lets in every peer that is bonded.
  public let allowed: Set<BluetoothAddress>?

  /// Everybody may ask.
  public static let open = AccessPolicy(mode: .open, allowed: nil)

  /// Bonded peers may ask, over an encrypted link.
  /// - Parameter allowed: only these; without it, all.
  public static func encrypted(allowed: Set<BluetoothAddress>? = nil) -> AccessPolicy {
    AccessPolicy(mode: .encrypted, allowed: allowed)
  }

  /// Bonded peers may ask, over a link authenticated with a passkey or a comparison.
  /// - Parameter allowed: only these; without it, all.
  public static func authenticated(allowed: Set<BluetoothAddress>? = nil) -> AccessPolicy {
    AccessPolicy(mode: .authenticated, allowed: allowed)
  }

  /// Whether a peer may ask.
  /// - Parameters:
  ///   - address: its identity address; `nil` when unknown.
  ///   - isBonded: whether keys are kept of it.
  func admits(_ address: BluetoothAddress?, isBonded: Bool) -> Bool {
    guard mode != .open else { return true }
    guard isBonded, let address else { return false }
    return allowed?.contains(address) ?? true
  }

  /// The flags of what is written.
  var writeFlags: CharacteristicFlags {
    switch mode {
    case .open: [.write, .writeWithoutResponse]
    case .encrypted: [.write, .writeWithoutResponse, .encryptWrite]
    case .authenticated: [.write, .writeWithoutResponse, .encryptAuthenticatedWrite]
    }
  }

  /// The flags of what is read and subscribed to.
  var readFlags: CharacteristicFlags {
    switch mode {
    case .open: [.read, .notify]
    case .encrypted: [.read, .notify, .encryptRead, .encryptNotify]
    case .authenticated: [.read, .notify, .encryptAuthenticatedRead, .encryptAuthenticatedNotify]
    }
  }

  /// What an L2CAP channel demands of its link.
  var securityLevel: SecurityLevel {
    switch mode {
    case .open: .low
    case .encrypted: .medium
    case .authenticated: .high
    }
  }
}
