extension Advertisement {
  /// What is advertised.
  public struct Content: Sendable, Hashable {
    /// The name; in the scan response, or with a ``Parameters/secondaryChannel`` in the advertising data. `nil`
    /// advertises none.
    public var name: String?
    /// The services.
    public var services: [BluetoothUUID]
    /// The services it looks for in who hears it.
    public var solicitedServices: [BluetoothUUID]
    /// Data by company identifier.
    public var manufacturerData: [UInt16: [UInt8]]
    /// Data by service.
    public var serviceData: [BluetoothUUID: [UInt8]]
    /// The content of elements by AD type, where there is no other field for them.
    public var other: [UInt8: [UInt8]]
    /// What it looks like to a person, as assigned by the Bluetooth SIG.
    public var appearance: UInt16?
    /// What the kernel or bluetoothd add.
    public var includes: Set<Include>
    /// More elements, in the scan response beside the name; needs BlueZ 5.80 and `bluetoothd -E`.
    public var scanResponse: ScanResponse?
    /// Whether centrals may connect.
    public var isConnectable: Bool
    /// Whether it says that it is discoverable. What is not connectable must not (Core Specification 3.C.9.2.2).
    public var isDiscoverable: Bool

    /// Describes an advertisement. It is discoverable when it is connectable, unless told otherwise.
    public init(
      name: String? = nil, services: [BluetoothUUID] = [], manufacturerData: [UInt16: [UInt8]] = [:],
      serviceData: [BluetoothUUID: [UInt8]] = [:], solicitedServices: [BluetoothUUID] = [],
      other: [UInt8: [UInt8]] = [:], appearance: UInt16? = nil, includes: Set<Include> = [],
      scanResponse: ScanResponse? = nil, isConnectable: Bool = true, isDiscoverable: Bool? = nil
    ) {
      self.name = name
      self.services = services
      self.solicitedServices = solicitedServices
      self.manufacturerData = manufacturerData
      self.serviceData = serviceData
      self.other = other
      self.appearance = appearance
      self.includes = includes
      self.scanResponse = scanResponse
      self.isConnectable = isConnectable
      self.isDiscoverable = isDiscoverable ?? isConnectable
    }

    /// What it takes of the legacy advertising bytes.
    public var budget: AdvertisementBudget { AdvertisementBudget(self) }
  }

  /// What a scan response has beside the name.
  public struct ScanResponse: Sendable, Hashable {
    /// The services.
    public var services: [BluetoothUUID]
    /// The services it looks for in who hears it.
    public var solicitedServices: [BluetoothUUID]
    /// Data by company identifier.
    public var manufacturerData: [UInt16: [UInt8]]
    /// Data by service.
    public var serviceData: [BluetoothUUID: [UInt8]]
    /// The content of elements by AD type, where there is no other field for them.
    public var other: [UInt8: [UInt8]]

    /// Describes a scan response.
    public init(
      services: [BluetoothUUID] = [], solicitedServices: [BluetoothUUID] = [],
      manufacturerData: [UInt16: [UInt8]] = [:], serviceData: [BluetoothUUID: [UInt8]] = [:],
      other: [UInt8: [UInt8]] = [:]
    ) {
      self.services = services
      self.solicitedServices = solicitedServices
      self.manufacturerData = manufacturerData
      self.serviceData = serviceData
      self.other = other
    }
  }

  /// What the kernel or bluetoothd add to an advertisement.
  public enum Include: String, Sendable, Hashable, CaseIterable {
    /// The power it is sent with.
    case txPower = "tx-power"
    /// The adapter's appearance.
    case appearance
    /// The adapter's alias, shortened to 10 bytes when it is longer.
    case localName = "local-name"
    /// A Resolvable Set Identifier; bluetoothd must have been given a key for it (`SIRK` in `main.conf`).
    case resolvableSetIdentifier = "rsi"
  }

  /// How it is advertised.
  public struct Parameters: Sendable, Hashable {
    /// The time from one advertising event to the next, 20 ms … 10.24 s; `nil` leaves it to the kernel (1.28 s unless
    /// configured otherwise). Below BlueZ 5.77 it needs `bluetoothd -E`.
    public var interval: ClosedRange<Duration>?
    /// The power to send with, in dBm, −127…20; the controller takes the nearest it can. `nil` leaves it to the
    /// controller. Below BlueZ 5.77 it needs `bluetoothd -E`.
    public var txPower: Int?
    /// The PHY of extended advertising, which has room for more data and is not heard by a Bluetooth 4 scanner; `nil`
    /// advertises as Bluetooth 4 does.
    public var secondaryChannel: SecondaryChannel?
    /// How long each turn is when several advertisements take turns on one radio, whole seconds, 1…65535; `nil` leaves
    /// it to the kernel (2 s).
    public var turn: Duration?
    /// After what time the advertisement ends by itself, whole seconds, 1…65535; `nil` is never.
    public var timeout: Duration?
    /// After what time it stops to be discoverable, whole seconds, 1…65535 and at most ``timeout``; until then it is
    /// in limited discoverable mode. `nil` is never.
    public var discoverableTimeout: Duration?
    /// What may be given up when it does not fit or is not to be had; see ``Advertisement/concessions``.
    public var mayGiveUp: Set<Concession>

    /// Makes parameters.
    public init(
      interval: ClosedRange<Duration>? = nil, txPower: Int? = nil, secondaryChannel: SecondaryChannel? = nil,
      turn: Duration? = nil, timeout: Duration? = nil, discoverableTimeout: Duration? = nil,
      mayGiveUp: Set<Concession> = Set(Concession.allCases)
    ) {
      self.interval = interval
      self.txPower = txPower
      self.secondaryChannel = secondaryChannel
      self.turn = turn
      self.timeout = timeout
      self.discoverableTimeout = discoverableTimeout
      self.mayGiveUp = mayGiveUp
    }
  }

  /// The PHY of extended advertising.
  public enum SecondaryChannel: String, Sendable, Hashable {
    /// 1 Mbit/s.
    case oneM = "1M"
    /// 2 Mbit/s.
    case twoM = "2M"
    /// Long range.
    case coded = "Coded"
  }

  /// Something an advertisement can do without, in the order it is given up. The name is not among them: without a
  /// secondary channel bluetoothd has it in the scan response to begin with.
  public enum Concession: Sendable, Hashable, CaseIterable {
    /// The power is not said in the advertisement: the 3 bytes did not fit, or the kernel does not add them.
    case txPowerElement
    /// The controller chooses the power.
    case txPower
    /// The kernel chooses the interval.
    case interval
  }
}
