import DBus

/// What an adapter can advertise.
public struct AdvertisingCapabilities: Sendable, Hashable {
  /// How many advertisements there are now, of all programs.
  public var activeInstances: Int
  /// How many more there can be.
  public var freeInstances: Int
  /// What can be included.
  public var includes: Set<Advertisement.Include>
  /// The PHYs of extended advertising; empty when the adapter has none.
  public var secondaryChannels: Set<Advertisement.SecondaryChannel>
  /// Whether the power to send with can be chosen.
  public var canSetTxPower: Bool
  /// Whether the controller itself takes turns between advertisements.
  public var hasHardwareOffload: Bool
  /// The most bytes of advertising data, 31 without extended advertising.
  public var maxAdvertisingData: Int
  /// The most bytes of a scan response.
  public var maxScanResponse: Int
  /// The powers there are to send with, in dBm; `nil` when bluetoothd does not tell.
  public var txPowers: ClosedRange<Int>?

  /// What every adapter has.
  static let legacy = AdvertisingCapabilities([:])

  /// Reads the properties of an `org.bluez.LEAdvertisingManager1`; what is missing counts as what every adapter has.
  init(_ manager: [String: Value]) {
    let capabilities = manager["SupportedCapabilities"]?.properties ?? [:]
    let features = manager["SupportedFeatures"]?.strings ?? []
    activeInstances = manager["ActiveInstances"]?.integer() ?? 0
    freeInstances = manager["SupportedInstances"]?.integer() ?? 0
    includes = Set((manager["SupportedIncludes"]?.strings ?? []).compactMap(Advertisement.Include.init))
    secondaryChannels = Set(
      (manager["SupportedSecondaryChannels"]?.strings ?? []).compactMap(Advertisement.SecondaryChannel.init))
    canSetTxPower = features.contains("CanSetTxPower")
    hasHardwareOffload = features.contains("HardwareOffload")
    maxAdvertisingData = capabilities["MaxAdvLen"]?.integer() ?? AdvertisementBudget.limit
    maxScanResponse = capabilities["MaxScnRspLen"]?.integer() ?? AdvertisementBudget.limit
    let low = capabilities["MinTxPower"]?.integer(as: Int.self)
    let high = capabilities["MaxTxPower"]?.integer(as: Int.self)
    txPowers = if let low, let high, low <= high { low...high } else { nil }
  }
}

extension Adapter {
  /// What it can advertise; `nil` while it is not there.
  public var advertisingCapabilities: AdvertisingCapabilities? {
    path.flatMap { path in
      core.state.withLock { $0.cache.properties(path, "org.bluez.LEAdvertisingManager1") }
    }.map(AdvertisingCapabilities.init)
  }
}
