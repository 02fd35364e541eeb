extension Advertisement {
  /// The content of an advertisement, and whether centrals may connect to it.
  ///
  /// Legacy advertising carries 31 bytes of data and 31 bytes of scan response; ``budget`` counts them before anything
  /// is registered.
  ///
  /// ```swift
  /// var content = Advertisement.Content(name: "Lamp", services: ["180f"])
  /// content.appearance = 0x0180
  /// print(content.budget.advertisingData, "of", content.budget.advertisingDataLimit, "bytes")
  /// ```
  public struct Content: Sendable, Hashable {
    /// The local name; `nil` advertises none. The name is in the scan response, or with a
    /// ``Parameters/secondaryChannel`` in the advertising data.
    public var name: String?
    /// The UUIDs of the services that this host provides.
    public var services: [BluetoothUUID]
    /// The UUIDs of services that this host looks for in a peer. Default: none.
    public var solicitedServices: [BluetoothUUID] = []
    /// The manufacturer data, by company identifier.
    public var manufacturerData: [UInt16: [UInt8]]
    /// The service data, by the UUID of the service.
    public var serviceData: [BluetoothUUID: [UInt8]]
    /// The content of further elements by AD type, for types that have no property of their own. Default: none.
    public var other: [UInt8: [UInt8]] = [:]
    /// The appearance value assigned by the Bluetooth SIG, such as 961 for a keyboard. Default: `nil`.
    public var appearance: UInt16?
    /// The elements that the kernel or bluetoothd add to the advertisement.
    public var includes: Set<Include>
    /// Further elements of the scan response, beside the name. They need BlueZ 5.80 and `bluetoothd -E`. Default: `nil`.
    public var scanResponse: ScanResponse?
    /// A Boolean value that indicates whether centrals may connect.
    public var isConnectable: Bool
    /// A Boolean value that indicates whether the advertisement has the flag "general discoverable". By default, a
    /// connectable advertisement has it; one that is not connectable must not (Core Specification 3.C.9.2.2).
    public var isDiscoverable: Bool

    /// Creates the content of an advertisement. The remaining elements are properties.
    /// - Parameters:
    ///   - name: The local name.
    ///   - services: The UUIDs of the services that this host provides.
    ///   - manufacturerData: The manufacturer data, by company identifier.
    ///   - serviceData: The service data, by the UUID of the service.
    ///   - includes: The elements that the kernel or bluetoothd add.
    ///   - isConnectable: A Boolean value that indicates whether centrals may connect; ``isDiscoverable`` starts with the
    ///     same value.
    public init(
      name: String? = nil, services: [BluetoothUUID] = [], manufacturerData: [UInt16: [UInt8]] = [:],
      serviceData: [BluetoothUUID: [UInt8]] = [:], includes: Set<Include> = [], isConnectable: Bool = true
    ) {
      self.name = name
      self.services = services
      self.manufacturerData = manufacturerData
      self.serviceData = serviceData
      self.includes = includes
      self.isConnectable = isConnectable
      isDiscoverable = isConnectable
    }

    /// The number of bytes that the content occupies in legacy advertising.
    public var budget: AdvertisementBudget { AdvertisementBudget(self) }

    /// The elements that an advertisement and a scan response have in common.
    var elements: ScanResponse {
      ScanResponse(
        services: services, solicitedServices: solicitedServices, manufacturerData: manufacturerData,
        serviceData: serviceData, other: other)
    }
  }

  /// The elements of a scan response, beside the name.
  ///
  /// ```swift
  /// var content = Advertisement.Content(name: "Lamp")
  /// content.scanResponse = Advertisement.ScanResponse(manufacturerData: [0xffff: [1, 2]])
  /// ```
  public struct ScanResponse: Sendable, Hashable {
    /// The UUIDs of the services that this host provides.
    public var services: [BluetoothUUID]
    /// The UUIDs of services that this host looks for in a peer.
    public var solicitedServices: [BluetoothUUID]
    /// The manufacturer data, by company identifier.
    public var manufacturerData: [UInt16: [UInt8]]
    /// The service data, by the UUID of the service.
    public var serviceData: [BluetoothUUID: [UInt8]]
    /// The content of further elements by AD type, for types that have no property of their own.
    public var other: [UInt8: [UInt8]]

    /// Creates the elements of a scan response; every one is empty by default.
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

  /// An element that the kernel or bluetoothd add to an advertisement.
  public enum Include: String, Sendable, Hashable, CaseIterable {
    /// The transmit power, which occupies 3 bytes.
    case txPower = "tx-power"
    /// The appearance that is configured for the adapter.
    case appearance
    /// The adapter's alias, shortened to 10 bytes when it is longer.
    case localName = "local-name"
    /// A Resolvable Set Identifier; bluetoothd needs a key for it (`SIRK` in `main.conf`).
    case resolvableSetIdentifier = "rsi"
  }

  /// The parameters of advertising: interval, power, PHY and duration.
  ///
  /// ```swift
  /// let fast = Advertisement.Parameters(interval: .milliseconds(100)...(.milliseconds(150)), timeout: .seconds(60))
  /// ```
  public struct Parameters: Sendable, Hashable {
    /// The interval between advertising events, 20 ms to 10.24 s; `nil` uses the kernel's default (1.28 s unless
    /// configured otherwise). Below BlueZ 5.77 it needs `bluetoothd -E`.
    public var interval: ClosedRange<Duration>?
    /// The transmit power in dBm, −127 to 20; the controller uses the nearest value that it supports. `nil` lets the
    /// controller choose. Below BlueZ 5.77 it needs `bluetoothd -E`.
    public var txPower: Int?
    /// The PHY of extended advertising, which carries more data but is not received by Bluetooth 4 scanners; `nil`
    /// uses legacy advertising.
    public var secondaryChannel: SecondaryChannel?
    /// The duration of each turn when several advertisements share one controller, in whole seconds, 1 to 65535; `nil`
    /// uses the kernel's default (2 s).
    public var turn: Duration?
    /// The duration after which the advertisement ends, in whole seconds, 1 to 65535; `nil` is never.
    public var timeout: Duration?
    /// The duration after which the advertisement is no longer discoverable, in whole seconds, 1 to 65535 and at most
    /// ``timeout``; until then it is in limited discoverable mode. `nil`, the default, is never.
    public var discoverableTimeout: Duration?
    /// The fallbacks that are permitted when something does not fit or is not supported; see
    /// ``Advertisement/fallbacks``.
    public var allowedFallbacks: Set<Fallback>

    /// Creates parameters; by default the kernel and the controller choose, and every fallback is permitted.
    /// - Parameters:
    ///   - interval: The interval between advertising events, 20 ms to 10.24 s.
    ///   - txPower: The transmit power in dBm, −127 to 20.
    ///   - secondaryChannel: The PHY of extended advertising.
    ///   - turn: The duration of each turn, 1 s to 65535 s.
    ///   - timeout: The duration after which the advertisement ends, 1 s to 65535 s.
    ///   - allowedFallbacks: The fallbacks that are permitted.
    public init(
      interval: ClosedRange<Duration>? = nil, txPower: Int? = nil, secondaryChannel: SecondaryChannel? = nil,
      turn: Duration? = nil, timeout: Duration? = nil, allowedFallbacks: Set<Fallback> = Set(Fallback.allCases)
    ) {
      self.interval = interval
      self.txPower = txPower
      self.secondaryChannel = secondaryChannel
      self.turn = turn
      self.timeout = timeout
      self.allowedFallbacks = allowedFallbacks
    }
  }

  /// The PHY of extended advertising.
  public enum SecondaryChannel: String, Sendable, Hashable {
    /// The LE 1M PHY, 1 Mbit/s.
    case oneM = "1M"
    /// The LE 2M PHY, 2 Mbit/s.
    case twoM = "2M"
    /// The LE Coded PHY, with long range.
    case coded = "Coded"
  }

  /// A part of an advertisement that may be left out, in the order in which parts are left out.
  ///
  /// The name is not among them: without a secondary channel bluetoothd puts the name into the scan response.
  public enum Fallback: Sendable, Hashable, CaseIterable {
    /// The advertisement does not contain the transmit power: the 3 bytes did not fit, or the kernel does not add them.
    case txPowerElement
    /// The controller chooses the transmit power.
    case txPower
    /// The kernel chooses the advertising interval.
    case interval
  }
}
