import DBus

extension Adapter {
  /// What a scan is to find. All conditions must hold.
  ///
  /// bluetoothd takes one filter from each session and scans for the union of all. A session tells it the narrowest
  /// filter that serves all of its scans, and gives each scan only what that scan asked for.
  public struct DiscoveryFilter: Sendable, Hashable {
    /// Which kind of radio finds it.
    public enum Transport: String, Sendable, Hashable {
      /// Low Energy.
      case le
      /// Classic.
      case bredr
      /// Both, as the adapter can.
      case auto
    }

    /// Devices that advertise one of these services; empty finds all.
    public var services: Set<BluetoothUUID>
    /// Devices at least this strong, in dBm, −127…20; those whose strength is unknown are not. `nil` finds all.
    public var minimumRSSI: Int?
    /// Devices at most so much weaker here than they say they send, in dB, 0…137; those that do not say are not found.
    /// `nil` finds all.
    public var maximumPathLoss: Int?
    /// Devices whose name or address (`00:AA:01:…`) begins so. With a pattern, the empty one too, devices are found that
    /// have no discoverable flag in their advertisement; bluetoothd otherwise hides them. `nil` finds all others.
    public var pattern: String?
    /// The radio. Scans of one session with different transports see what either finds.
    public var transport: Transport
    /// Whether every advertisement counts, or only those that bring something new: other data, or a strength that
    /// differs by 8 dB or more.
    public var duplicates: Bool
    /// Whether the adapter is made discoverable by Classic devices meanwhile.
    public var discoverable = false

    /// Makes a filter.
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
  /// bluetoothd refuses what is out of its ranges with a bare "Invalid arguments" (src/adapter.c, parse_rssi and
  /// parse_pathloss).
  func check() throws {
    if let minimumRSSI, !(-127...20).contains(minimumRSSI) {
      throw BlueZError(.invalidArgument, "a filter for \(minimumRSSI) dBm", hint: "it takes −127…20")
    }
    if let maximumPathLoss, !(0...137).contains(maximumPathLoss) {
      throw BlueZError(.invalidArgument, "a filter for a path loss of \(maximumPathLoss) dB", hint: "it takes 0…137")
    }
  }

  /// What `SetDiscoveryFilter` is told so that every one of the scans gets what it asked for.
  static func options(serving filters: [Self]) -> [String: Value] {
    let transports = Set(filters.map(\.transport))
    let transport = transports.count > 1 ? .auto : transports.first ?? .le
    var options: [String: Value] = [
      "Transport": .string(transport.rawValue), "DuplicateData": .bool(filters.contains(where: \.duplicates)),
    ]
    if filters.contains(where: \.discoverable) { options["Discoverable"] = true }
    // A condition that one scan does not have must not be made of the others.
    guard !filters.isEmpty else { return options }
    if filters.allSatisfy({ !$0.services.isEmpty }) {
      options["UUIDs"] = .strings(Set(filters.flatMap(\.services)).map(\.description).sorted())
    }
    let strengths = filters.compactMap(\.minimumRSSI)
    let losses = filters.compactMap(\.maximumPathLoss)
    // bluetoothd takes one of the two.
    if strengths.count == filters.count, let least = strengths.min() {
      options["RSSI"] = .int16(Int16(least))
    } else if losses.count == filters.count, let most = losses.max() {
      options["Pathloss"] = .uint16(UInt16(most))
    }
    let patterns = filters.compactMap(\.pattern)
    if let first = patterns.first {
      // Without a common beginning the empty pattern finds all, those that are not discoverable included.
      let common =
        patterns.count == filters.count ? patterns.dropFirst().reduce(first) { $0.commonPrefix(with: $1) } : ""
      options["Pattern"] = .string(common)
    }
    return options
  }

  /// Whether a device is what this scan looks for.
  /// - Parameter mayHaveForgotten: whether a service that is missing may be bluetoothd's fault.
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
