public import BlueZ

extension FakeBlueZ {
  /// What a fake bluetoothd and its air are like.
  public struct Configuration: Sendable, Hashable {
    /// The release it behaves like, where releases differ in what a GATT server sees. Sessions of
    /// ``FakeBlueZ/session(logger:)`` are told it.
    public var version: BlueZRelease
    /// The ATT MTU of every link, in bytes, 23…517.
    public var mtu: UInt16
    /// The strength with which the adapters hear each other, in dBm.
    public var rssi: Int16
    /// Whether adapters are switched on whenever bluetoothd starts or one is plugged in; `AutoEnable` in main.conf.
    public var switchesOnAdapters: Bool
    /// How long a link to somebody who does not advertise is tried. The kernel's own limit is 20 s, longer than tests
    /// want to wait.
    public var connectTimeout: Duration
    /// Limits of the private bus, by their names in dbus-daemon's configuration, such as
    /// `max_match_rules_per_connection`.
    public var busLimits: [String: Int]

    /// Makes a configuration; without arguments it is Debian 12's bluetoothd with two good radios.
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

/// What differs between releases. Not asked of the library: a double that believes what it tests finds no fault in it.
extension BlueZRelease {
  /// A notify socket for each subscribed central (commit 8eb1dee).
  var socketForEachPeer: Bool { self >= BlueZRelease(5, 69) }
  /// What is written to a central's socket goes to no other (commit a08ec1a).
  var notifiesPeersApart: Bool { self >= BlueZRelease(5, 76) }
  /// A byte on the notify socket says that an indication was confirmed (commit 6b34b05); before, `Confirm` is called.
  var confirmsOnSocket: Bool { self >= BlueZRelease(5, 80) }
  /// Confirmations of indications get lost.
  var losesConfirmations: Bool { (BlueZRelease(5, 74)...BlueZRelease(5, 79)).contains(self) }
  /// A notify socket for characteristics that only indicate (commit f863d01).
  var givesSocketForIndications: Bool { self >= BlueZRelease(5, 80) }
  /// `Device1` tells why a link ended (commit 8b08f90).
  var tellsDisconnectReasons: Bool { self >= BlueZRelease(5, 83) }
  /// The longest value in one write with response, and in a long one, in bytes (commit 8bf3a4a26).
  var longestWrite: (whole: Int, inPieces: Int) { self >= BlueZRelease(5, 70) ? (512, 512) : (510, 508) }
}
