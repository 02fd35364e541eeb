extension Adapter.DiscoveryFilter {
  /// A condition of a scan that bluetoothd itself can compare, by the key that `SetDiscoveryFilter` has for it.
  ///
  /// New releases may add some, so a `switch` needs a default.
  ///
  /// ```swift
  /// print(try await adapter.discoveryConditions().contains(.pattern))
  /// ```
  public struct Condition: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The key, such as `UUIDs`.
    public let rawValue: String

    /// Creates a condition from its key.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The key, such as `UUIDs`.
    public var description: String { rawValue }

    /// The services that a device advertises; see ``Adapter/DiscoveryFilter/services``.
    public static let services = Condition(rawValue: "UUIDs")
    /// The smallest RSSI; see ``Adapter/DiscoveryFilter/minimumRSSI``.
    public static let minimumRSSI = Condition(rawValue: "RSSI")
    /// The largest path loss; see ``Adapter/DiscoveryFilter/maximumPathLoss``.
    public static let maximumPathLoss = Condition(rawValue: "Pathloss")
    /// The prefix of the name or the address; see ``Adapter/DiscoveryFilter/pattern``.
    public static let pattern = Condition(rawValue: "Pattern")
    /// The radio technology; see ``Adapter/DiscoveryFilter/transport``.
    public static let transport = Condition(rawValue: "Transport")
    /// The report of every advertisement; see ``Adapter/DiscoveryFilter/duplicates``.
    public static let duplicates = Condition(rawValue: "DuplicateData")
    /// The visibility of the adapter during the scan; see ``Adapter/DiscoveryFilter/discoverable``.
    public static let discoverable = Condition(rawValue: "Discoverable")
  }
}

extension Adapter {
  /// Returns the conditions of a scan that bluetoothd itself can compare, with `GetDiscoveryFilters`.
  ///
  /// ``discover(_:limit:)`` sends them to bluetoothd, so that devices that do not match wake no program, and compares all
  /// of them again for each scan.
  /// - Throws: ``BlueZError`` with code `.noAdapter`, `.serviceUnavailable` or `.notPermitted`.
  public func discoveryConditions() async throws -> Set<DiscoveryFilter.Condition> {
    let path = try await core.whenPresent(identity)
    let reply = try await core.call(
      .init(path, Self.interface, "GetDiscoveryFilters", returning: "as"),
      doing: "reading the discovery filters of \(path.lastElement)")
    return Set((reply.first?.strings ?? []).map(DiscoveryFilter.Condition.init(rawValue:)))
  }
}
