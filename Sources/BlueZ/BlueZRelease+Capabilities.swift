/// The capabilities of BlueZ by release, and the consequences where one is missing: the only place that knows the
/// releases.
extension BlueZRelease {
  /// A capability that some releases of BlueZ have and others lack.
  ///
  /// ```swift
  /// for capability in BlueZRelease.Capability.all where !BlueZRelease(5, 66).has(capability) {
  ///   print("BlueZ 5.66 lacks", capability.title, "-", capability.limitation)
  /// }
  /// ```
  public struct Capability: Sendable, Hashable {
    /// The name of the capability, for display.
    public let title: String
    /// The first release that has the capability; `nil` when no release has it yet.
    public let since: BlueZRelease?
    /// The later releases in which a fault makes the capability unusable; `nil` when there are none. The range ends with
    /// ``BlueZRelease/latest`` when no release has corrected the fault yet.
    public let lostIn: ClosedRange<BlueZRelease>?
    /// The consequence for a program where the capability is missing.
    public let limitation: String
    /// The evidence: a commit of BlueZ, an issue's number in its tracker, or the issue of another project.
    public let source: String

    private init(
      _ title: String, since: BlueZRelease?, lostIn: ClosedRange<BlueZRelease>? = nil, limitation: String,
      source: String
    ) {
      self.title = title
      self.since = since
      self.lostIn = lostIn
      self.limitation = limitation
      self.source = source
    }

    /// The MTU of a connection, as a property of its characteristics.
    public static let reportsMTU = Capability(
      "the MTU of a connection", since: BlueZRelease(5, 62),
      limitation: "not reported; 23 bytes is the guaranteed minimum",
      source: "its ChangeLog, 5.63")

    /// The distinction between bonded and paired devices.
    public static let reportsBonded = Capability(
      "bonded distinguished from paired", since: BlueZRelease(5, 65), limitation: "a paired device counts as bonded",
      source: "its ChangeLog, 5.65")

    /// One ATT channel on each connection where main.conf does not set `Channels`.
    public static let opensOneChannel = Capability(
      "one ATT channel by default", since: BlueZRelease(5, 67),
      limitation: "up to three ATT channels (EATT), over which bursts are reordered, unless main.conf has Channels = 1",
      source: "commit ab3ff0d")

    /// A notification socket and a write socket for each central.
    public static let socketPerPeer = Capability(
      "a socket for each central", since: BlueZRelease(5, 69),
      limitation:
        "one notify socket serves all subscribed centrals: replies reach all of them and are distinguished by their ID",
      source: "commit 8eb1dee, bluez #460")

    /// Writes of the full length of an attribute. Before, bluetoothd's length check counted the header.
    public static let fullLengthWrites = Capability(
      "writes of the full 512 bytes to its server", since: BlueZRelease(5, 70),
      limitation: "writes of 511 and 512 bytes and long writes over 508 are refused by its server",
      source: "commit 8bf3a4a26")

    /// The registration of services without sporadic failures.
    public static let registersServices = Capability(
      "reliable registration of services", since: BlueZRelease(5, 0), lostIn: BlueZRelease(5, 74)...BlueZRelease(5, 74),
      limitation: "registering services can fail with 'Failed to create entry'", source: "bluez #821")

    /// Notifications that reach the addressed central alone.
    public static let notifiesOnePeer = Capability(
      "notifications to one central alone", since: BlueZRelease(5, 76),
      limitation: "a notification to one central still reaches all", source: "commit a08ec1a, bluez #820")

    /// The interval and power of advertisements without `bluetoothd -E`.
    public static let advertisingInterval = Capability(
      "interval and power of advertisements", since: BlueZRelease(5, 77),
      limitation: "only `bluetoothd -E` accepts them", source: "commit 7e02828")

    /// Confirmations of indications that arrive, and arrive once.
    public static let confirmsIndications = Capability(
      "confirmations of indications", since: BlueZRelease(5, 0), lostIn: BlueZRelease(5, 74)...BlueZRelease(5, 79),
      limitation: "confirmations of indications are unreliable", source: "connectedhomeip #40147")

    /// Sockets for indications: a client's, and a server's that reports the confirmation.
    public static let indicationSockets = Capability(
      "sockets for indications", since: BlueZRelease(5, 80),
      limitation: "indications and confirmations go over the bus, and a confirmation does not name its central",
      source: "commits 6b34b05 and f863d01")

    /// Scan responses with more than the name, with `bluetoothd -E`.
    public static let scanResponses = Capability(
      "scan responses", since: BlueZRelease(5, 80), limitation: "only the name is in the scan response",
      source: "f863d01")

    /// A signal with the reason why a connection ended.
    public static let reportsDisconnectReason = Capability(
      "the reason why a connection ended", since: BlueZRelease(5, 83),
      limitation: "a lost connection cannot be distinguished from a closed one",
      source: "commit 8b08f90")

    /// The links over LE and over Classic, each as a property of its own, with `bluetoothd -E`.
    public static let reportsBearers = Capability(
      "links over LE apart from those over Classic", since: BlueZRelease(5, 84),
      limitation: "a device that is linked over Classic alone counts as connected",
      source: "bluez 5.84, doc/org.bluez.Bearer.LE.rst")

    /// The controller's instance number of an advertisement.
    public static let reportsAdvertisingInstance = Capability(
      "the instance of an advertisement", since: BlueZRelease(5, 87), limitation: "not reported",
      source: "commit b55c055")

    /// Scans that bluetoothd filters by service. In 5.87 the first matching advertisement crashes it.
    public static let filtersByService = Capability(
      "scans that bluetoothd filters by service", since: BlueZRelease(5, 0),
      lostIn: BlueZRelease(5, 87)...BlueZRelease(5, 87),
      limitation:
        "a scan with a service UUID crashes bluetoothd: this library compares in the program, other programs may crash it",
      source: "bluez #2282, corrected by 82af2be after 5.87")

    /// Advertisement monitors for services, service data and names.
    public static let monitorsServicesAndNames = Capability(
      "advertisement monitors for services, service data and names", since: BlueZRelease(5, 0),
      lostIn: BlueZRelease(5, 69)...BlueZRelease.latest,
      limitation: "such a monitor is refused, because bluetoothd would never report a device",
      source: "bluez #652, #901, #2110")

    /// The capability of the caller's agent for `Pair` on a connection, instead of that of the agent that was the default
    /// one when the connection began.
    public static let pairsAsTheCaller = Capability(
      "pairing with the capability of the caller's agent", since: BlueZRelease(5, 0),
      lostIn: BlueZRelease(5, 81)...BlueZRelease.latest,
      limitation: "a session's agent with display or input becomes the default one when the session connects",
      source: "measured on 5.82")

    /// Subscriptions that persist when another central disconnects.
    public static let keepsOthersSubscribed = Capability(
      "subscriptions that survive another central", since: nil,
      limitation: "when an unbonded central disconnects, another central's notifications may stop",
      source: "bluez #1452")

    /// All capabilities, ordered by release.
    public static let all = [
      registersServices, confirmsIndications, reportsMTU, reportsBonded, opensOneChannel, socketPerPeer,
      fullLengthWrites, notifiesOnePeer, advertisingInterval, indicationSockets, scanResponses, reportsDisconnectReason,
      reportsBearers,
      reportsAdvertisingInstance, filtersByService, monitorsServicesAndNames, pairsAsTheCaller,
      keepsOthersSubscribed,
    ]
  }

  /// Returns `true` if this release has a capability.
  public func has(_ capability: Capability) -> Bool {
    guard let since = capability.since, self >= since else { return false }
    return capability.lostIn.map { !$0.contains(self) } ?? true
  }

  /// The longest value that a GATT server accepts in one write, in bytes.
  public var largestServerWrite: Int { has(.fullLengthWrites) ? 512 : 510 }

  /// The longest value that a GATT server accepts in a long (prepared) write, in bytes.
  public var largestServerLongWrite: Int { has(.fullLengthWrites) ? 512 : 508 }
}
