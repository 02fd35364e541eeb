/// The reason why a connection ended, as bluetoothd reports it from 5.83 on.
///
/// ```swift
/// for await event in device.events() {
///   if case .disconnected(let reason) = event, reason == .timeout { print("out of range") }
/// }
/// ```
public enum DisconnectReason: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
  /// The supervision timeout passed: the peer is out of range or switched off.
  case timeout = "org.bluez.Reason.Timeout"
  /// This host closed the connection.
  case local = "org.bluez.Reason.Local"
  /// The peer closed the connection.
  case remote = "org.bluez.Reason.Remote"
  /// The keys of the two devices did not match.
  case authentication = "org.bluez.Reason.Authentication"
  /// This host was suspended to sleep.
  case suspend = "org.bluez.Reason.Suspend"
  /// The reason is unknown to bluetoothd, or has a name that this library does not know.
  case unknown = "org.bluez.Reason.Unknown"

  init(named name: String) { self = Self(rawValue: name) ?? .unknown }

  /// The reason as text, for display.
  public var description: String {
    switch self {
    case .timeout: "the supervision timeout passed"
    case .local: "closed by this host"
    case .remote: "closed by the peer"
    case .authentication: "the keys did not match"
    case .suspend: "this host was suspended"
    case .unknown: "for an unknown reason"
    }
  }
}
