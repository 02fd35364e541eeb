import DBus

extension Adapter {
  /// The conditions for the devices of a scan; all of them must hold.
  ///
  /// bluetoothd accepts one filter from each session and scans for the union of all. A session sets the narrowest
  /// filter that serves all of its scans, and delivers to each scan only the devices that match.
  ///
  /// ```swift
  /// let near = Adapter.DiscoveryFilter(services: ["180d"], minimumRSSI: -70)
  /// for await result in try await adapter.discover(near) { print(result.device) }
  /// ```
  public struct DiscoveryFilter: Sendable, Hashable {
    /// The radio technology of a scan.
    public enum Transport: String, Sendable, Hashable {
      /// Bluetooth Low Energy, without Classic.
      case le
      /// Bluetooth Classic (BR/EDR), without Low Energy.
      case bredr
      /// Both, as far as the adapter supports them.
      case auto
    }

    /// The services of which a device must advertise at least one; an empty set matches every device.
    public var services: Set<BluetoothUUID>
    /// The smallest RSSI in dBm, −127 to 20; devices of unknown RSSI do not match. `nil` matches every device.
    public var minimumRSSI: Int?
    /// The largest path loss in dB, 0 to 137; devices that do not advertise their transmit power do not match. `nil`
    /// matches every device.
    public var maximumPathLoss: Int?
    /// The prefix of a device's name or address (`00:AA:01:…`). With a pattern, even an empty one, the scan also finds
    /// devices without the discoverable flag, which bluetoothd hides otherwise. `nil` matches every discoverable
    /// device.
    public var pattern: String?
    /// The radio technology of the scan. Scans of one session with different transports receive the devices of both.
    public var transport: Transport
    /// A Boolean value that indicates whether every advertisement is a result, or only one with new content: other
    /// data, or an RSSI that differs by 8 dB or more.
    public var duplicates: Bool
    /// A Boolean value that indicates whether the adapter is discoverable by Classic devices during the scan. Default:
    /// `false`.
    public var discoverable = false

    /// Creates a filter; without arguments it matches every discoverable LE device.
    public init(
      services: Set<BluetoothUUID> = [], minimumRSSI: Int? = nil, maximumPathLoss: Int? = nil, pattern: String? = nil,
      transport: Transport = .le, duplicates: Bool = false
    ) {
      self.services = services
      self.minimumRSSI = minimumRSSI
      self.maximumPathLoss = maximumPathLoss
      self.pattern = pattern
      self.transport = transport
      self.duplicates = duplicates
    }
  }
}

extension Adapter.DiscoveryFilter {
  /// Checks the ranges; bluetoothd rejects values outside them with a bare "Invalid arguments" (src/adapter.c,
  /// parse_rssi and parse_pathloss).
  func check() throws {
    if let minimumRSSI, !(-127...20).contains(minimumRSSI) {
      throw BlueZError(.invalidArgument, "the minimum RSSI is \(minimumRSSI) dBm; allowed: −127 to 20")
    }
    if let maximumPathLoss, !(0...137).contains(maximumPathLoss) {
      throw BlueZError(.invalidArgument, "the maximum path loss is \(maximumPathLoss) dB; allowed: 0 to 137")
    }
  }

  /// Returns the argument of `SetDiscoveryFilter` with which every one of the scans gets its devices.
  /// - Parameter byService: `false` where bluetoothd must not receive services; each scan compares them in any case.
  static func options(serving filters: [Self], byService: Bool) -> [String: Value] {
    let transports = Set(filters.map(\.transport))
    let transport = transports.count > 1 ? .auto : transports.first ?? .le
    var options: [String: Value] = [
      "Transport": .string(transport.rawValue), "DuplicateData": .bool(filters.contains(where: \.duplicates)),
    ]
    if filters.contains(where: \.discoverable) { options["Discoverable"] = true }
    // A condition that one scan lacks must not restrict the common filter.
    guard !filters.isEmpty else { return options }
    if byService, filters.allSatisfy({ !$0.services.isEmpty }) {
      options["UUIDs"] = .strings(Set(filters.flatMap(\.services)).map(\.description).sorted())
    }
    let strengths = filters.compactMap(\.minimumRSSI)
    let losses = filters.compactMap(\.maximumPathLoss)
    // bluetoothd accepts only one of the two.
    if strengths.count == filters.count, let least = strengths.min() {
      options["RSSI"] = .int16(Int16(least))
    } else if losses.count == filters.count, let most = losses.max() {
      options["Pathloss"] = .uint16(UInt16(most))
    }
    let patterns = filters.compactMap(\.pattern)
    if let first = patterns.first {
      // Without a common prefix, the empty pattern finds all devices, including those that are not discoverable.
      let common =
        patterns.count == filters.count ? patterns.dropFirst().reduce(first) { $0.commonPrefix(with: $1) } : ""
      options["Pattern"] = .string(common)
    }
    return options
  }

  /// Returns `true` if a device matches this filter.
  /// - Parameter mayHaveForgotten: `true` if a missing service may be a fault of bluetoothd.
  func matches(_ data: AdvertisementData, address: BluetoothAddress?, mayHaveForgotten: Bool = false) -> Bool {
    if !services.isEmpty, services.isDisjoint(with: data.services), !mayHaveForgotten { return false }
    if let minimumRSSI {
      guard let rssi = data.rssi, rssi >= minimumRSSI else { return false }
    }
    if let maximumPathLoss {
      guard let loss = data.pathLoss, loss <= maximumPathLoss else { return false }
    }
    if let pattern, !pattern.isEmpty {
      guard data.name?.hasPrefix(pattern) == true || address?.description.hasPrefix(pattern) == true else {
        return false
      }
    }
    return true
  }
}

extension String {
  fileprivate func commonPrefix(with other: String) -> String {
    String(zip(self, other).prefix { $0 == $1 }.map(\.0))
  }
}
