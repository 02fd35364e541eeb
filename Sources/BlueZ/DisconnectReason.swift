/// Why a link ended, as bluetoothd tells from 5.83.
public enum DisconnectReason: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
  /// The peer was not heard for the supervision timeout: out of range, or switched off.
  case timeout = "org.bluez.Reason.Timeout"
  /// This machine ended it.
  case local = "org.bluez.Reason.Local"
  /// The peer ended it.
  case remote = "org.bluez.Reason.Remote"
  /// The keys did not match.
  case authentication = "org.bluez.Reason.Authentication"
  /// This machine was suspended.
  case suspend = "org.bluez.Reason.Suspend"
  /// bluetoothd does not know, or names a reason that this library does not know.
  case unknown = "org.bluez.Reason.Unknown"

  init(named name: String) { self = Self(rawValue: name) ?? .unknown }

  /// The reason in words.
  public var description: String {
    switch self {
    case .timeout: "the peer was not heard any more"
    case .local: "ended here"
    case .remote: "ended by the peer"
    case .authentication: "the keys did not match"
    case .suspend: "this machine was suspended"
    case .unknown: "for an unknown reason"
    }
  }
}
