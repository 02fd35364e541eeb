public import BlueZ

extension FakeBlueZ {
  /// The properties of a fake bluetoothd and of its radio.
  ///
  /// ```swift
  /// import BlueZ
  ///
  /// let old = FakeBlueZ.Configuration(version: BlueZRelease(5, 66), mtu: 23)
  /// let lab = try await FakeBlueZ.start(adapters: 3, old)
  /// ```
  public struct Configuration: Sendable, Hashable {
    /// The release whose behaviour the fake imitates, where releases differ for what it serves. Sessions of
    /// ``FakeBlueZ/session(logger:)`` receive it.
    public var version: BlueZRelease
    /// The ATT MTU of every connection, in bytes, 23 to 517.
    public var mtu: UInt16
    /// The RSSI with which the adapters receive each other, in dBm.
    public var rssi: Int16
    /// A Boolean value that indicates whether adapters are switched on when bluetoothd starts or one is plugged in,
    /// like `AutoEnable` in main.conf.
    public var switchesOnAdapters: Bool
    /// The timeout of a connection attempt to a device that does not advertise. The kernel's own is 20 s, too long for
    /// tests.
    public var connectTimeout: Duration
    /// The limits of the private bus, by their names in dbus-daemon's configuration, such as
    /// `max_match_rules_per_connection`.
    public var busLimits: [String: Int]
    /// The address of all adapters, as of cheap dongles; `nil` gives each its own. Adapters with one address are for
    /// tests of the host that has them, and do not reach each other.
    public var sharedAddress: BluetoothAddress? = nil

    /// A Boolean value that indicates whether bluetoothd has `Adapter1.ConnectDevice`, which so far needs `bluetoothd -E`.
    public var connectsWithoutScan = false

    /// A Boolean value that indicates whether bluetoothd has advertisement monitors, which so far need `bluetoothd -E`.
    /// They report at once: the durations of thresholds count as none.
    public var hasMonitors = false

    /// A Boolean value that indicates whether devices have their links over LE and over Classic apart, as those of
    /// `bluetoothd -E` from BlueZ 5.84 on.
    public var reportsBearers = false

    /// A Boolean value that indicates whether programs have the capability CAP_NET_ADMIN, which most of the kernel's
    /// management interface needs: readings of links, connection parameters, PHYs, privacy, Secure Connections.
    public var hasNetAdmin = false

    /// Creates a configuration; without arguments it is Debian 12's bluetoothd with two good radios.
    public init(
      version: BlueZRelease = BlueZRelease(5, 66), mtu: UInt16 = 517, rssi: Int16 = -55,
      switchesOnAdapters: Bool = true, connectTimeout: Duration = .seconds(2), busLimits: [String: Int] = [:]
    ) {
      self.version = version
      self.mtu = min(max(mtu, 23), 517)
      self.rssi = rssi
      self.switchesOnAdapters = switchesOnAdapters
      self.connectTimeout = connectTimeout
      self.busLimits = busLimits
    }
  }
}

/// The differences between releases. They are not taken from the library: a fake that shares its assumptions would find
/// no fault in it.
extension BlueZRelease {
  /// A notification socket for each subscribed central (commit 8eb1dee).
  var socketForEachPeer: Bool { self >= BlueZRelease(5, 69) }
  /// A value that is written to a central's socket reaches no other central (commit a08ec1a).
  var notifiesPeersApart: Bool { self >= BlueZRelease(5, 76) }
  /// A byte on the notification socket reports a confirmed indication (commit 6b34b05); before, `Confirm` is called.
  var confirmsOnSocket: Bool { self >= BlueZRelease(5, 80) }
  /// Confirmations of indications get lost.
  var losesConfirmations: Bool { (BlueZRelease(5, 74)...BlueZRelease(5, 79)).contains(self) }
  /// A notification socket for characteristics that only indicate (commit f863d01).
  var givesSocketForIndications: Bool { self >= BlueZRelease(5, 80) }
  /// `Device1` reports the reason why a connection ended (commit 8b08f90).
  var tellsDisconnectReasons: Bool { self >= BlueZRelease(5, 83) }
  /// The longest value in one write with response, and in a long write, in bytes (commit 8bf3a4a26).
  var longestWrite: (whole: Int, inPieces: Int) { self >= BlueZRelease(5, 70) ? (512, 512) : (510, 508) }
  /// A filter by service makes the first advertisement that is compared with it crash bluetoothd (bluez #2282).
  var crashesOnServiceFilters: Bool { self == BlueZRelease(5, 87) }
  /// `Pair` uses the capability of the agent that was the default one when the connection began, not that of the
  /// caller's (measured on 5.82).
  var pairsAsDefaultAgent: Bool { self >= BlueZRelease(5, 81) }
}
