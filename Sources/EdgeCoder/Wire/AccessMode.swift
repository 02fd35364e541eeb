/// The security that a phone demands of the connections of its centrals.
///
/// In the modes `encrypted` and `authenticated`, a phone tells a central that it must pair by publishing the raw value
/// in the characteristic ``EdgeCoderUUIDs/access``.
public enum AccessMode: String, Sendable, Hashable, CaseIterable {
  /// No security: every central in range may send requests.
  ///
  /// Before BlueZ 5.76 a notification reaches all subscribed centrals, so every central receives all replies.
  case open
  /// An encrypted connection to a central that has paired by any method.
  ///
  /// With LE Secure Connections, Just Works pairing protects against later attackers, and not against one that was in the
  /// middle during pairing. Legacy pairing, which this mode accepts, does not protect against one that heard it either.
  case encrypted
  /// An encrypted connection to a central that has paired by passkey entry or numeric comparison, with LE Secure
  /// Connections.
  case authenticated
}
