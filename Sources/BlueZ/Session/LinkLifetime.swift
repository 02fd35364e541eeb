/// The end of a link that a session uses.
///
/// bluetoothd keeps a link when the program that made it has ended, and most devices do not advertise while they are
/// linked. So a link that a session makes ends with the session, by default.
///
/// ```swift
/// _ = try await device.connect(.direct(), lifetime: .kept)  // for the next program
/// ```
public enum LinkLifetime: Sendable, Hashable {
  /// A link that the session makes ends with it: with ``Session/close()``, or when its last reference is released. A
  /// link that was there before, because another program or the peer made it, stays.
  case session
  /// The link ends with the session, whoever made it. With this a program ends the link that an earlier run of it left
  /// when it was killed.
  case takenOver
  /// The link stays when the session ends.
  case kept
}
