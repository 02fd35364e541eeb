public import BlueZ

/// An adapter of a ``FakeBlueZ``, seen from the hardware and the radio.
///
/// ```swift
/// let lab = try await FakeBlueZ.start()
/// let hardware = lab.adapters[0]
/// hardware.inject(.connectAborts(times: 2))
/// try await hardware.unplug()
/// try await hardware.plugIn()
/// hardware.repair()
/// try await lab.stop()
/// ```
public struct FakeAdapter: Sendable {
  /// The name of the adapter, from `hci1000` on: numbers that no real adapter has, so that the two are never confused.
  public let name: String
  /// The address of the adapter, which the other adapters see.
  public let address: BluetoothAddress
  let index: Int
  let daemon: Daemon
  let faults: Faults

  // MARK: Faults

  /// Injects a fault; several faults can be active at once.
  public func inject(_ fault: Fault) { faults.inject(fault) }

  /// Removes all faults of this adapter; stalled notifications are then delivered.
  public func repair() { faults.repair() }

  /// Unplugs the adapter: its objects disappear, with its connections, advertisements and services.
  /// - Throws: `DBusError` when the bus is gone.
  public func unplug() async throws { try await daemon.setPluggedIn(false, index) }

  /// Plugs the adapter in again.
  /// - Throws: `DBusError` when the bus is gone.
  public func plugIn() async throws { try await daemon.setPluggedIn(true, index) }

  /// Switches the adapter off, as a user does with `bluetoothctl power off`.
  public func switchOff() async { await daemon.setPowered(false, at: index) }

  /// Switches the adapter on, as a user does with `bluetoothctl power on`.
  public func switchOn() async { await daemon.setPowered(true, at: index) }

  /// Ends all connections of the adapter, as when the peers go out of range.
  public func loseConnections() async { await daemon.loseConnections(index) }

  /// Changes the private address of the adapter, which the others see until they have a bond with it.
  ///
  /// To an adapter without a bond the next advertisement is that of another device, unless the two are linked. With the
  /// bond the device gets the adapter's own ``address``, and keeps its object.
  /// - Parameter address: A resolvable or non-resolvable private address; `nil` uses the adapter's own again.
  public func setPrivateAddress(_ address: BluetoothAddress?) async {
    await daemon.setPrivateAddress(address, of: index)
  }

  // MARK: Inspection

  /// The things that bluetoothd has for programs at one adapter.
  ///
  /// ```swift
  /// let lab = try await FakeBlueZ.start()
  /// if await lab.adapters[0].holdings() == .init() { print("everything was withdrawn") }
  /// ```
  public struct Holdings: Sendable, Hashable {
    /// The number of advertisements, of all programs.
    public var advertisements = 0
    /// The number of registered applications of GATT services.
    public var applications = 0
    /// The number of programs that scan.
    public var scans = 0
    /// The number of programs' registrations of advertisement monitors.
    public var monitors = 0
    /// The number of links to other adapters, and of attempts to make one.
    public var links = 0
    /// The number of L2CAP sockets that programs hold: listeners, channels with those that have ended, and attempts to
    /// open one.
    public var channels = 0
    /// The number of agents; they belong to bluetoothd itself, whatever the adapter.
    public var agents = 0
    /// A Boolean value that indicates whether the adapter is pairable.
    public var isPairable = false

    /// Creates the holdings of an adapter that no program uses.
    public init(
      advertisements: Int = 0, applications: Int = 0, scans: Int = 0, links: Int = 0, agents: Int = 0,
      isPairable: Bool = false
    ) {
      self.advertisements = advertisements
      self.applications = applications
      self.scans = scans
      self.links = links
      self.agents = agents
      self.isPairable = isPairable
    }
  }

  /// Returns the things that bluetoothd has at this adapter now.
  public func holdings() async -> Holdings { await daemon.holdings(at: index) }

  /// Returns the security level of a connection, as the kernel has it.
  /// - Parameter peer: The address of the other adapter.
  /// - Returns: The level; `nil` if the two are not connected.
  public func securityLevel(to peer: BluetoothAddress) async -> SecurityLevel? {
    await daemon.securityLevel(to: peer, at: index)
  }

  // MARK: Links

  /// Sets what the controller measures of the links to a peer, the present one and later ones. Until then the RSSI is
  /// that of the ``FakeBlueZ/Configuration``, and the power 0 dBm of at most 8 dBm.
  /// - Parameters:
  ///   - reading: The powers; those outside −127 to 126 dBm are unknown, or the nearest.
  ///   - peer: The address of the peer.
  public func setLinkReading(_ reading: LinkReading, of peer: BluetoothAddress) async {
    await daemon.setReading(reading, of: peer, at: index)
  }

  /// Asks the central of a link for connection parameters, as the kernel of a peripheral does where the link has others.
  /// Programs with CAP_NET_ADMIN receive them with `Device.connectionParameterUpdates(limit:)`.
  /// - Throws: `BlueZError`: `.notConnected` unless the peer is the central of a link to this adapter, `.invalidArgument`.
  public func requestConnectionParameters(
    _ parameters: ConnectionParameters, of central: BluetoothAddress
  ) async throws { try await daemon.request(parameters, of: central, at: index) }

  /// Returns the connection parameters that a program has set for a device.
  /// - Returns: The parameters; `nil` when the kernel has none of this device.
  public func preferredConnectionParameters(of device: BluetoothAddress) async -> ConnectionParameters? {
    await daemon.preferredParameters(of: device, at: index)
  }

  // MARK: Other devices

  /// Simulates a device that advertises, once for each scan, until ``forget(_:)``. Another call for the same address
  /// changes what it advertises and its RSSI.
  /// - Parameters:
  ///   - address: The address of the device.
  ///   - name: The local name that it advertises.
  ///   - services: The services that it advertises.
  ///   - manufacturerData: The manufacturer data that it advertises, by company identifier.
  ///   - rssi: The RSSI of its advertisements, in dBm.
  ///   - isConnectable: `true` for a device that accepts a connection; it has no services but Generic Access and Generic
  ///     Attribute, and does not pair.
  public func receiveAdvertisement(
    of address: BluetoothAddress, name: String? = nil, services: [BluetoothUUID] = [],
    manufacturerData: [UInt16: [UInt8]] = [:], rssi: Int16 = -70, isConnectable: Bool = false
  ) async {
    let air = AirAdvertisement(name, services, manufacturerData, isConnectable: isConnectable)
    await daemon.hear(air, from: address, rssi, at: index)
  }

  /// Makes or ends a link over Bluetooth Classic with a device that bluetoothd knows, as a headset has one for sound.
  /// - Parameters:
  ///   - isLinked: `true` to make the link, `false` to end it.
  ///   - address: The address of the device; an unknown one is ignored.
  public func setClassicLink(_ isLinked: Bool, with address: BluetoothAddress) async {
    await daemon.setClassicLink(isLinked, of: address, at: index)
  }

  /// Returns `true` if there is a link over Bluetooth Classic with a device.
  public func hasClassicLink(with address: BluetoothAddress) async -> Bool {
    await daemon.hasClassicLink(with: address, at: index)
  }

  /// Makes bluetoothd forget a device without a connection, as it does 30 s after the last advertisement.
  public func forget(_ address: BluetoothAddress) async { await daemon.forget(address, at: index) }
}

extension Daemon {
  func handles() -> [FakeAdapter] {
    adapters.map { FakeAdapter(name: $0.name, address: $0.address, index: $0.index, daemon: self, faults: $0.faults) }
  }

  func holdings(at index: Int) -> FakeAdapter.Holdings {
    let adapter = adapters[index]
    var holdings = FakeAdapter.Holdings(
      advertisements: adapter.clients.advertisements.count, applications: adapter.server.applications.count,
      scans: adapter.clients.scans.count,
      links: adapter.devices.values.count { $0.link != nil || $0.attempt != nil } + adapter.attempts.unseen.count,
      agents: agents.count,
      isPairable: adapter.object?[Names.adapter, "Pairable"]?.bool == true)
    holdings.monitors = adapter.clients.monitors.count
    holdings.channels = channels.change { $0.count(at: index) }
    return holdings
  }

  func securityLevel(to peer: BluetoothAddress, at index: Int) -> SecurityLevel? {
    adapters[index].devices[peer]?.link.map { $0.key?.level ?? .low }
  }

  func setPowered(_ on: Bool, at index: Int) { setPowered(on, adapters[index]) }

  func hear(_ air: AirAdvertisement, from address: BluetoothAddress, _ rssi: Int16, at index: Int) {
    let adapter = adapters[index]
    adapter.strangers[address] = (air, rssi)
    hear(stranger: address, at: adapter)
    guard air.isConnectable else { return }
    adapter.devices[address]?.attempt?.yield(.tryAgain)
    adapter.attempts.unseen[address]?.yield(.tryAgain)
    for attempt in adapter.attempts.channels.values { attempt.yield(.tryAgain) }
  }

  func forget(_ address: BluetoothAddress, at index: Int) {
    let adapter = adapters[index]
    if adapter.strangers.removeValue(forKey: address) != nil { lose(address, at: adapter) }
    if let device = adapter.devices[address], device.link == nil { forget(device, at: adapter) }
  }
}
