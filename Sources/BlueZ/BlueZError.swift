public import DBus

/// An error of a Bluetooth operation: a code to act on, a message with the phase, and a hint for a user.
///
/// ```swift
/// do {
///   try await device.connect()
/// } catch let error as BlueZError where error.code == .staleHandle {
///   print("find the device again:", error.message)
/// } catch let error as BlueZError {
///   print(error, error.hint ?? "")
/// }
/// ```
///
/// The message names the operation that failed, such as "connecting to 00:AA:01:00:00:42". ``underlying`` and ``errno``
/// have the cause where bluetoothd or the kernel reported one.
public struct BlueZError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of a failure. New codes may be added, so a `switch` needs a default.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The meaning of the code, for display.
    public let description: String
    init(_ description: String) { self.description = description }

    /// bluetoothd does not run, or it stopped during the call. Start it, or wait for ``Session/Event/serviceUp``.
    public static let serviceUnavailable = Code("bluetoothd is not running")
    /// There is no adapter, or not the one that was requested.
    public static let noAdapter = Code("no such adapter")
    /// The adapter is switched off. Switch it on with ``Adapter/setPowered(_:timeout:)``.
    public static let notPowered = Code("adapter is off")
    /// The object behind a handle is gone: bluetoothd restarted, or the adapter or device was removed. Get a new
    /// handle.
    public static let staleHandle = Code("stale handle")
    /// The device was never seen, or bluetoothd has forgotten it. Scan for it.
    public static let deviceNotFound = Code("device not found")
    /// The connection could not be established. Trying again may help.
    public static let connectFailed = Code("connect failed")
    /// There is no connection, or it ended during the operation.
    public static let notConnected = Code("not connected")
    /// The operation did not finish in time; the message names the phase.
    public static let timedOut = Code("timed out")
    /// The peer, the adapter or this release of BlueZ does not support the operation.
    public static let notSupported = Code("not supported")
    /// The operation was refused for lack of permission, of pairing, or because another client holds the object.
    public static let notPermitted = Code("not permitted")
    /// Pairing failed: the keys did not match, or the peer does not accept pairing now.
    public static let authenticationFailed = Code("pairing failed")
    /// Pairing was refused by the user or by the peer.
    public static let authenticationRejected = Code("pairing refused")
    /// Pairing was cancelled, or the connection ended meanwhile.
    public static let authenticationCancelled = Code("pairing cancelled")
    /// Another operation of the same kind is under way. Wait for it to finish.
    public static let inProgress = Code("in progress")
    /// An argument is outside its range; the message has the value, the hint the range.
    public static let invalidArgument = Code("invalid argument")
    /// The content does not fit into the advertisement; see ``AdvertisementBudget``.
    public static let advertisementTooLong = Code("advertisement too long")
    /// The peer responded to a GATT request with an ATT error.
    public static let attributeError = Code("refused by the peer")
    /// The peer refused the L2CAP channel: no listener on the PSM, or no resources for another channel.
    public static let channelRefused = Code("channel refused")
    /// Another program on this host listens on the PSM already.
    public static let psmInUse = Code("PSM in use")
    /// Values arrived faster than they were read, and the stream was configured to fail then.
    public static let overflowed = Code("reader too slow")
    /// BlueZ failed without a specific reason.
    public static let failed = Code("failed")
  }

  /// The kind of the failure.
  public var code: Code
  /// The operation that failed, and the cause where it is known.
  public var message: String
  /// The advice for a user; `nil` where there is none.
  public var hint: String?
  /// The D-Bus error that caused this one; `nil` when there was none.
  public var underlying: DBusError?
  /// The kernel's error number that caused this one; `nil` when there was none.
  public var errno: Int32?

  /// Creates an error with a code and a message.
  public init(
    _ code: Code, _ message: String, hint: String? = nil, underlying: DBusError? = nil, errno: Int32? = nil
  ) {
    self.code = code
    self.message = message
    self.hint = hint
    self.underlying = underlying
    self.errno = errno
  }

  /// The code, the message, the cause and the hint in one line.
  public var description: String {
    "\(code): \(message)" + (underlying.map { " [\($0.name): \($0.message)]" } ?? "")
      + (hint.map { " (\($0))" } ?? "")
  }
}

extension BlueZError {
  /// Creates the error that corresponds to a D-Bus error.
  /// - Parameter doing: The phase, for the message: "starting discovery on hci0".
  init(_ error: DBusError, while doing: String) {
    let (code, hint): (Code, String?) =
      switch error.name {
      case "org.bluez.Error.NotReady":
        (.notPowered, "switch it on: `bluetoothctl power on`; `rfkill list` shows whether it is blocked")
      case "org.bluez.Error.InProgress", "org.bluez.Error.Busy":
        (.inProgress, nil)
      case "org.bluez.Error.NotPermitted":
        (.notPermitted, error.message == "Not paired" ? "the peer requires pairing" : nil)
      case "org.bluez.Error.NotAuthorized":
        (.notPermitted, "the peer requires pairing")
      case "org.bluez.Error.AuthenticationFailed":
        (.authenticationFailed, "check that the peer is pairable, and remove an older bond")
      case "org.bluez.Error.AuthenticationRejected":
        (.authenticationRejected, nil)
      case "org.bluez.Error.AuthenticationCanceled":
        (.authenticationCancelled, nil)
      case "org.bluez.Error.AuthenticationTimeout":
        (.timedOut, "a user decided too late")
      case "org.freedesktop.DBus.Error.AccessDenied":
        (.notPermitted, "the D-Bus policy of org.bluez forbids it; run as root or join the group `bluetooth`")
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
        (.staleHandle, "the device, the adapter or bluetoothd is gone; get the object again")
      case "org.freedesktop.DBus.Error.NoReply":
        // The bus sends the same error when the peer terminated before it replied.
        error.code == .timedOut ? (.timedOut, nil) : (.serviceUnavailable, "bluetoothd stopped before it replied")
      case "org.freedesktop.DBus.Error.Disconnected":
        (.serviceUnavailable, "the message bus is gone")
      default:
        (.failed, nil)
      }
    self.init(code, doing, hint: hint, underlying: error)
  }

  /// Creates the error of a call that was to connect and failed without a reason of its own.
  init(notConnecting error: BlueZError) {
    // bluetoothd's text when the kernel has not begun an attempt (`device_connect_le`, src/device.c).
    let isStuck = error.underlying?.message == "Input/output error"
    self.init(
      .connectFailed, error.message,
      hint: isStuck
        ? "if it stays so, the kernel has an earlier attempt that never ended: switch the adapter off and on" : nil,
      underlying: error.underlying)
  }

  /// Creates the error of a bus that cannot be reached, which libdbus reports by a dozen names: no socket, nobody who
  /// listens on it, a bad address.
  init(connecting error: DBusError) {
    let isForbidden = error.name == "org.freedesktop.DBus.Error.AccessDenied"
    self.init(
      isForbidden ? .notPermitted : .serviceUnavailable, "connecting to the message bus",
      hint: isForbidden ? nil : "start it: `systemctl start dbus`; a container needs the /run/dbus of its host",
      underlying: error)
  }

  /// Runs an operation and converts its D-Bus errors.
  static func naming<R>(_ doing: String, _ body: () async throws -> R) async throws -> R {
    do {
      return try await body()
    } catch let error as DBusError {
      throw BlueZError(error, while: doing)
    }
  }
}
