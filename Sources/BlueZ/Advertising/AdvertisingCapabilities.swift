import DBus

/// The advertising features and limits of an adapter.
///
/// ```swift
/// if let capabilities = adapter.advertisingCapabilities {
///   print(capabilities.freeInstances, "more advertisements of", capabilities.maxAdvertisingData, "bytes")
/// }
/// ```
public struct AdvertisingCapabilities: Sendable, Hashable {
  /// The number of advertisements that run now, of all programs.
  public var activeInstances: Int
  /// The number of advertisements that can be added.
  public var freeInstances: Int
  /// The elements that the kernel or bluetoothd can add.
  public var includes: Set<Advertisement.Include>
  /// The PHYs of extended advertising; empty when the adapter does not support it.
  public var secondaryChannels: Set<Advertisement.SecondaryChannel>
  /// A Boolean value that indicates whether the transmit power can be chosen.
  public var canSetTxPower: Bool
  /// A Boolean value that indicates whether the controller itself alternates between advertisements.
  public var hasHardwareOffload: Bool
  /// The largest number of bytes of advertising data, 31 without extended advertising.
  public var maxAdvertisingData: Int
  /// The largest number of bytes of a scan response.
  public var maxScanResponse: Int
  /// The range of transmit powers in dBm; `nil` when bluetoothd does not report it.
  public var txPowers: ClosedRange<Int>?

  /// The capabilities that every adapter has.
  static let legacy = AdvertisingCapabilities([:])

  /// Creates capabilities from the properties of an `org.bluez.LEAdvertisingManager1`; missing ones are those of every
  /// adapter.
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
  /// The advertising features and limits of the adapter; `nil` while it is absent.
  public var advertisingCapabilities: AdvertisingCapabilities? {
    path.flatMap { path in
      core.state.withLock { $0.cache.properties(path, "org.bluez.LEAdvertisingManager1") }
    }.map(AdvertisingCapabilities.init)
  }
}
