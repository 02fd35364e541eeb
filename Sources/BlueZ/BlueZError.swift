public import DBus

/// What went wrong between this program and a radio.
public struct BlueZError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What kind of failure it was; new codes may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The code in words.
    public let description: String
    init(_ description: String) { self.description = description }

    /// bluetoothd does not run, or went away during the call.
    public static let serviceUnavailable = Code("bluetoothd is not there")
    /// No adapter, or not the one that was asked for.
    public static let noAdapter = Code("no such adapter")
    /// The adapter is switched off.
    public static let notPowered = Code("adapter is off")
    /// The object behind a handle is gone: bluetoothd restarted, or the adapter or device was removed. Get a new one.
    public static let staleHandle = Code("stale handle")
    /// The device was never seen, or BlueZ has forgotten it.
    public static let deviceNotFound = Code("device not found")
    /// The link could not be made.
    public static let connectFailed = Code("connect failed")
    /// The link ended, or there is none.
    public static let notConnected = Code("not connected")
    /// A wait ended without what it waited for; the message names the phase.
    public static let timedOut = Code("timed out")
    /// The peer, the adapter or this BlueZ version cannot do this.
    public static let notSupported = Code("not supported")
    /// Refused: permissions, pairing, or somebody else holds it.
    public static let notPermitted = Code("not permitted")
    /// Pairing failed: the keys did not match, or the peer does not pair now.
    public static let authenticationFailed = Code("pairing failed")
    /// Pairing was refused, here or by the peer.
    public static let authenticationRejected = Code("pairing refused")
    /// Pairing was given up, or the link ended meanwhile.
    public static let authenticationCancelled = Code("pairing given up")
    /// Another operation of the same kind is under way.
    public static let inProgress = Code("in progress")
    /// The caller's argument cannot be.
    public static let invalidArgument = Code("invalid argument")
    /// What is to be advertised does not fit.
    public static let advertisementTooLong = Code("advertisement too long")
    /// The peer answered with an ATT error.
    public static let attributeError = Code("refused by the peer")
    /// The peer refused the L2CAP channel: nobody listens on the PSM, or it has no room for one more.
    public static let channelRefused = Code("channel refused")
    /// Somebody in this machine listens on the PSM already.
    public static let psmInUse = Code("PSM in use")
    /// Values came faster than they were read, and the stream was to end then.
    public static let overflowed = Code("reader too slow")
    /// BlueZ failed without saying more.
    public static let failed = Code("failed")
  }

  /// The kind of failure.
  public var code: Code
  /// What happened, with the phase it happened in.
  public var message: String
  /// What a person can do about it.
  public var hint: String?
  /// The D-Bus error behind it, when there is one.
  public var underlying: DBusError?
  /// The kernel's error number behind it, when there is one.
  public var errno: Int32?

  /// Makes an error.
  public init(
    _ code: Code, _ message: String, hint: String? = nil, underlying: DBusError? = nil, errno: Int32? = nil
  ) {
    self.code = code
    self.message = message
    self.hint = hint
    self.underlying = underlying
    self.errno = errno
  }

  /// The code, the message, the hint and what is behind it, in one line.
  public var description: String {
    "\(code): \(message)" + (underlying.map { " [\($0.name): \($0.message)]" } ?? "")
      + (hint.map { " (\($0))" } ?? "")
  }
}

extension BlueZError {
  /// What a D-Bus error means here.
  /// - Parameter doing: the phase, for the message: "starting discovery on hci0".
  init(_ error: DBusError, while doing: String) {
    let (code, hint): (Code, String?) =
      switch error.name {
      case "org.bluez.Error.NotReady":
        (.notPowered, "power the adapter: `bluetoothctl power on`, or check rfkill")
      case "org.bluez.Error.InProgress", "org.bluez.Error.Busy":
        (.inProgress, nil)
      case "org.bluez.Error.NotPermitted":
        (.notPermitted, error.message == "Not paired" ? "the peer wants pairing" : nil)
      case "org.bluez.Error.NotAuthorized":
        (.notPermitted, "the peer wants pairing")
      case "org.bluez.Error.AuthenticationFailed":
        (.authenticationFailed, "is the peer pairable, and did it forget an older bond?")
      case "org.bluez.Error.AuthenticationRejected":
        (.authenticationRejected, nil)
      case "org.bluez.Error.AuthenticationCanceled":
        (.authenticationCancelled, nil)
      case "org.bluez.Error.AuthenticationTimeout":
        (.timedOut, "a decision at one of the sides took too long")
      case "org.freedesktop.DBus.Error.AccessDenied":
        (.notPermitted, "the D-Bus policy of org.bluez forbids it: run as root or join the group `bluetooth`")
      case "org.bluez.Error.ConnectionAttemptFailed":
        (.connectFailed, nil)
      case "org.bluez.Error.NotConnected":
        (.notConnected, nil)
      case "org.bluez.Error.NotSupported", "org.bluez.Error.NotAvailable":
        (.notSupported, nil)
      case "org.bluez.Error.InvalidArguments", "org.bluez.Error.InvalidLength",
        "org.bluez.Error.InvalidValueLength", "org.bluez.Error.InvalidOffset":
        (.invalidArgument, nil)
      case "org.bluez.Error.DoesNotExist":
        (.deviceNotFound, nil)
      case "org.bluez.Error.Failed" where error.message.contains("ATT error"):
        (.attributeError, nil)
      case "org.bluez.Error.Failed" where error.message == "Not connected":
        (.notConnected, nil)
      case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner":
        (.serviceUnavailable, "start it: `systemctl start bluetooth`")
      case "org.freedesktop.DBus.Error.UnknownObject", "org.freedesktop.DBus.Error.UnknownMethod":
        (.staleHandle, "the device, the adapter or bluetoothd went away; look the object up again")
      case "org.freedesktop.DBus.Error.NoReply":
        // The bus says the same when the peer died before it answered.
        error.code == .timedOut ? (.timedOut, nil) : (.serviceUnavailable, "bluetoothd stopped before it answered")
      case "org.freedesktop.DBus.Error.Disconnected":
        (.serviceUnavailable, "the message bus is gone")
      default:
        (.failed, nil)
      }
    self.init(code, doing, hint: hint, underlying: error)
  }

  /// Runs something and turns its D-Bus errors into ours.
  static func naming<R>(_ doing: String, _ body: () async throws -> R) async throws -> R {
    do {
      return try await body()
    } catch let error as DBusError {
      throw BlueZError(error, while: doing)
    }
  }
}
