/// What BlueZ can do, since when, and how one lives without it: the one place that knows the releases.
extension BlueZRelease {
  /// Something that some releases of BlueZ can do and others cannot.
  public struct Capability: Sendable, Hashable {
    /// What it is, in a few words.
    public let title: String
    /// The first release that has it; `nil` when none has it yet.
    public let since: BlueZRelease?
    /// Releases after the first that had lost it.
    public let lostIn: ClosedRange<BlueZRelease>?
    /// What is different where it is missing.
    public let limitation: String
    /// Where this was found out: a commit of BlueZ, an issue's number in its tracker, or another project's.
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

    /// The MTU of a link, as a property of its characteristics.
    public static let reportsMTU = Capability(
      "the MTU of a link", since: BlueZRelease(5, 62), limitation: "it is not told; 23 is what one can count on",
      source: "its ChangeLog, 5.63")

    /// Bonded apart from paired.
    public static let reportsBonded = Capability(
      "kept keys told from keys of this link", since: BlueZRelease(5, 65), limitation: "paired counts as bonded",
      source: "its ChangeLog, 5.65")

    /// A notify and a write socket for each central.
    public static let socketPerPeer = Capability(
      "a socket for each central", since: BlueZRelease(5, 69),
      limitation: "one notify socket serves all subscribed centrals: replies are broadcast and told apart by id",
      source: "commit 8eb1dee, bluez #460")

    /// Values of the full length of an attribute. Before, the length check counted the header.
    public static let fullLengthWrites = Capability(
      "writes of the full 512 bytes to its server", since: BlueZRelease(5, 70),
      limitation: "writes of 511 and 512 bytes and long writes over 508 are refused by its server",
      source: "commit 8bf3a4a26")

    /// Services that can be registered.
    public static let registersServices = Capability(
      "reliable registration of services", since: BlueZRelease(5, 0), lostIn: BlueZRelease(5, 74)...BlueZRelease(5, 74),
      limitation: "registering services can fail with 'Failed to create entry'", source: "bluez #821")

    /// What is written to one central's socket goes to that central alone.
    public static let notifiesOnePeer = Capability(
      "notifications to one central alone", since: BlueZRelease(5, 76),
      limitation: "a notification to one central still reaches all", source: "commit a08ec1a, bluez #820")

    /// The interval and power of advertisements without `bluetoothd -E`.
    public static let advertisingInterval = Capability(
      "interval and power of advertisements", since: BlueZRelease(5, 77),
      limitation: "they are taken only by a bluetoothd that was started with -E", source: "commit 7e02828")

    /// Confirmations of indications that come, and come once.
    public static let confirmsIndications = Capability(
      "confirmations of indications", since: BlueZRelease(5, 0), lostIn: BlueZRelease(5, 74)...BlueZRelease(5, 79),
      limitation: "confirmations of indications are unreliable", source: "connectedhomeip #40147")

    /// Sockets for indications: a client's, and a server's that tells the confirmation.
    public static let indicationSockets = Capability(
      "sockets for indications", since: BlueZRelease(5, 80),
      limitation: "indications and their confirmations go over the bus, and no confirmation says whose it is",
      source: "commits 6b34b05 and f863d01")

    /// More than the name in a scan response, with `bluetoothd -E`.
    public static let scanResponses = Capability(
      "scan responses", since: BlueZRelease(5, 80), limitation: "only the name is in the scan response",
      source: "f863d01")

    /// A signal that says why a link ended.
    public static let reportsDisconnectReason = Capability(
      "the reason why a link ended", since: BlueZRelease(5, 83),
      limitation: "a lost link looks like one that was ended",
      source: "commit 8b08f90")

    /// The number of an advertisement in the controller.
    public static let reportsAdvertisingInstance = Capability(
      "the instance of an advertisement", since: BlueZRelease(5, 87), limitation: "it is not told",
      source: "commit b55c055")

    /// A central that leaves takes only its own subscription with it.
    public static let keepsOthersSubscribed = Capability(
      "subscriptions that outlive another central", since: nil,
      limitation: "when an unbonded central leaves, another's notifications may end with it", source: "bluez #1452")

    /// Every row, by release.
    public static let all = [
      registersServices, confirmsIndications, reportsMTU, reportsBonded, socketPerPeer, fullLengthWrites,
      notifiesOnePeer,
      advertisingInterval, indicationSockets, scanResponses, reportsDisconnectReason, reportsAdvertisingInstance,
      keepsOthersSubscribed,
    ]
  }

  /// Whether this release can do something.
  public func has(_ capability: Capability) -> Bool {
    guard let since = capability.since, self >= since else { return false }
    return capability.lostIn.map { !$0.contains(self) } ?? true
  }

  /// The largest value a GATT server takes in one write, in bytes.
  public var largestServerWrite: Int { has(.fullLengthWrites) ? 512 : 510 }

  /// The largest value a GATT server takes in a long (prepared) write, in bytes.
  public var largestServerLongWrite: Int { has(.fullLengthWrites) ? 512 : 508 }
}
